// A Bloom join: finds which of many local keys are in a remote set, without sending all of them. The server's filter is
// fetched once; the keys are tested locally, and only those that pass are sent to the exact source.
//
//     c++ -std=c++20 bloom_join.cc $(pkg-config --cflags --libs bitsieve) -lhiredis -o bloom_join
//     ./bloom_join 127.0.0.1 7379 customers customers_exact orders
//
// `customers` is the filter that is fetched. `customers_exact` stands for the exact source: here it is a filter with
// the lowest error rate, elsewhere a database. `orders` is a file with a key on each line. For comparison, the program
// then sends all keys.
#include <bitsieve/filter.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Keys = std::vector<std::string_view>;

[[noreturn]] void Fail(const std::string& problem) {
  std::cerr << "bloom_join: " << problem << '\n';
  std::exit(1);
}

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Free {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
  void operator()(redisContext* server) const { redisFree(server); }
};
using Reply = std::unique_ptr<redisReply, Free>;

class Server {
 public:
  Server(const char* host, int port) : context_(redisConnect(host, port)) {
    if (context_ == nullptr || context_->err != 0) Fail(context_ == nullptr ? "out of memory" : context_->errstr);
  }

  // The bytes of a dump, in chunks, so that it may have any size.
  std::string Dump(std::string_view filter) {
    std::string dump, cursor = "0";
    while (true) {
      const Reply reply = Ask({"BF.SCANDUMP", filter, cursor});
      if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) Fail("the server's reply is not a chunk of a dump");
      if (reply->element[0]->integer == 0) return dump;
      dump.append(reply->element[1]->str, reply->element[1]->len);
      cursor = std::to_string(reply->element[0]->integer);
    }
  }

  // How many of the keys are in the filter. A thousand per command, and many commands under way.
  uint64_t CountPresent(std::string_view filter, const Keys& keys) {
    constexpr size_t kPerCommand = 1000, kUnderWay = 16;
    uint64_t present = 0;
    size_t under_way = 0;
    for (size_t first = 0; first < keys.size(); first += kPerCommand) {
      if (under_way == kUnderWay) {
        present += Sum(Next());
        --under_way;
      }
      Keys words{"BF.MEXISTS", filter};
      const size_t count = std::min(kPerCommand, keys.size() - first);
      words.insert(words.end(), keys.begin() + static_cast<ptrdiff_t>(first),
                   keys.begin() + static_cast<ptrdiff_t>(first + count));
      Send(words);
      ++under_way;
    }
    for (; under_way > 0; --under_way) present += Sum(Next());
    return present;
  }

  uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void Send(const Keys& words) {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
      sent_bytes_ += word.size();
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data()) !=
        REDIS_OK) {
      Fail(context_->errstr);
    }
  }
  Reply Next() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) Fail(context_->errstr);
    Reply owned(static_cast<redisReply*>(reply));
    if (owned->type == REDIS_REPLY_ERROR) Fail(owned->str);
    return owned;
  }
  Reply Ask(const Keys& words) {
    Send(words);
    return Next();
  }
  static uint64_t Sum(const Reply& reply) {
    uint64_t sum = 0;
    for (size_t i = 0; i < reply->elements; ++i) sum += static_cast<uint64_t>(reply->element[i]->integer);
    return sum;
  }

  std::unique_ptr<redisContext, Free> context_;
  uint64_t sent_bytes_ = 0;
};

Keys LinesOf(const std::string& text) {
  Keys lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: bloom_join HOST PORT FILTER EXACT KEYS\n";
    return 2;
  }
  const char* const filter_name = argv[3];
  const char* const exact_name = argv[4];
  std::ifstream file(argv[5], std::ios::binary);
  if (!file) Fail(std::string(argv[5]) + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Keys keys = LinesOf(text);

  Server server(argv[1], std::atoi(argv[2]));
  auto start = Clock::now();
  const std::string dump = server.Dump(filter_name);
  const bitsieve::Result<bitsieve::Filter> filter = bitsieve::Filter::FromBytes(dump);
  if (!filter) Fail(filter.error().message);
  const double dump_seconds = SecondsSince(start);

  start = Clock::now();
  std::vector<uint8_t> present(keys.size());
  filter->MayContain(keys, present);
  Keys survivors;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (present[i] != 0) survivors.push_back(keys[i]);
  }
  const double test_seconds = SecondsSince(start);

  start = Clock::now();
  uint64_t sent_before = server.sent_bytes();
  const uint64_t joined = server.CountPresent(exact_name, survivors);
  const double send_seconds = SecondsSince(start);
  const uint64_t join_bytes = server.sent_bytes() - sent_before;

  start = Clock::now();
  sent_before = server.sent_bytes();
  const uint64_t found_by_all = server.CountPresent(exact_name, keys);
  const double all_seconds = SecondsSince(start);
  const uint64_t all_bytes = server.sent_bytes() - sent_before;

  std::printf("%zu keys, %zu survive, %llu are there\n", keys.size(), survivors.size(),
              static_cast<unsigned long long>(joined));
  std::printf(
      "with the filter: %.2f s (%.2f to fetch it, %.2f to test, %.2f to send), %.1f MB received, %.1f MB sent\n",
      dump_seconds + test_seconds + send_seconds, dump_seconds, test_seconds, send_seconds,
      static_cast<double>(dump.size()) / 1e6, static_cast<double>(join_bytes) / 1e6);
  std::printf("sending all:     %.2f s, %.1f MB sent\n", all_seconds, static_cast<double>(all_bytes) / 1e6);
  if (joined != found_by_all) Fail("the join lost keys");
}
