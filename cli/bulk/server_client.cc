#include "cli/bulk/server_client.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "cli/client/nearest_name.h"
#include "core/base/quote.h"
#include "core/filter/filter_type.h"

namespace bitsieve::cli {
namespace {

// hiredis calls these functions while it reads a reply: each makes a part of it, within the array that it belongs to.

Reply* Place(const redisReadTask* task, Reply reply) {
  if (task->parent == nullptr) return new Reply(std::move(reply));
  auto* const array = static_cast<Reply*>(task->parent->obj);
  Reply& place = array->elements[static_cast<size_t>(task->idx)];
  place = std::move(reply);
  return &place;
}

void* MakeText(const redisReadTask* task, char* text, size_t size) {
  const Reply::Kind kind = task->type == REDIS_REPLY_ERROR    ? Reply::kError
                           : task->type == REDIS_REPLY_STATUS ? Reply::kStatus
                                                              : Reply::kString;
  return Place(task, {.kind = kind, .text = std::string(text, size)});
}

// Returns null if the announced array is too large: the reply is then refused.
void* MakeArray(const redisReadTask* task, int size) {
  constexpr int kMaxElements = 1 << 20;
  if (size > kMaxElements) return nullptr;
  return Place(task, {.kind = Reply::kArray, .elements = std::vector<Reply>(static_cast<size_t>(size))});
}

void* MakeInteger(const redisReadTask* task, long long value) {
  return Place(task, {.kind = Reply::kInteger, .integer = value});
}

void* MakeNil(const redisReadTask* task) { return Place(task, {}); }

void Free(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions kReplies = {MakeText, MakeArray, MakeInteger, MakeNil, Free};

}  // namespace

const Reply* Reply::ValueOf(std::string_view name) const {
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text == name) return &elements[i + 1];
  }
  return nullptr;
}

uint64_t Reply::NumberOf(std::string_view name) const {
  const Reply* const value = ValueOf(name);
  return value == nullptr ? 0 : static_cast<uint64_t>(std::max<int64_t>(value->integer, 0));
}

void AppendCommandHead(std::string& bytes, size_t words) {
  bytes.append("*").append(std::to_string(words)).append("\r\n");
}

void AppendWord(std::string& bytes, std::string_view word) {
  bytes.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
}

void AppendCommand(std::string& bytes, std::initializer_list<std::string_view> words) {
  AppendCommandHead(bytes, words.size());
  for (const std::string_view word : words) AppendWord(bytes, word);
}

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&kReplies)) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void ReplyReader::Feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) throw std::bad_alloc();
}

core::Outcome<std::optional<Reply>> ReplyReader::Next() {
  void* made = nullptr;
  if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
    return tl::unexpected(std::string("the server does not speak this protocol: ") + reader_->errstr);
  }
  if (made == nullptr) return std::nullopt;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(made));
  return std::move(*reply);
}

core::Outcome<ServerClient> ServerClient::Connect(const Target& target, const Credentials& credentials) {
  auto connection = ClientConnection::Connect(target, std::chrono::steady_clock::now() + kPatience);
  if (!connection) return tl::unexpected(connection.error());
  ServerClient client(std::move(*connection));
  if (!credentials.empty()) {
    if (auto done = client.Authenticate(credentials); !done) return tl::unexpected(done.error());
  }
  return client;
}

core::Outcome<void> ServerClient::Authenticate(const Credentials& credentials) {
  const auto reply = credentials.user.empty() ? Ask({"AUTH", credentials.password})
                                              : Ask({"AUTH", credentials.user, credentials.password});
  if (!reply) return tl::unexpected(reply.error());
  if (const std::string problem = AuthProblem(reply->text, credentials); !problem.empty()) {
    return tl::unexpected(problem);
  }
  return {};
}

core::Outcome<void> ServerClient::Send(std::string_view bytes) {
  connection_.set_deadline(std::chrono::steady_clock::now() + kPatience);
  return connection_.Send(bytes);
}

core::Outcome<Reply> ServerClient::Receive() {
  connection_.set_deadline(std::chrono::steady_clock::now() + kPatience);
  std::array<char, 64 << 10> room;
  while (true) {
    auto reply = reader_.Next();
    if (!reply) return tl::unexpected(reply.error());
    if (*reply) return std::move(**reply);
    const auto received = connection_.Receive(room);
    if (!received) return tl::unexpected(received.error());
    reader_.Feed({room.data(), *received});
  }
}

core::Outcome<Reply> ServerClient::Ask(std::initializer_list<std::string_view> words) {
  std::string command;
  AppendCommand(command, words);
  if (auto sent = Send(command); !sent) return tl::unexpected(sent.error());
  return Receive();
}

void PipelinedCommands::Add(std::initializer_list<std::string_view> words) {
  AppendCommand(bytes_, words);
  ++count_;
}

core::Outcome<std::vector<Reply>> PipelinedCommands::Ask() {
  if (auto sent = client_.Send(std::exchange(bytes_, {})); !sent) return tl::unexpected(sent.error());
  std::vector<Reply> replies;
  for (size_t left = std::exchange(count_, 0); left > 0; --left) {
    auto reply = client_.Receive();
    if (!reply) return tl::unexpected(reply.error());
    replies.push_back(std::move(*reply));
  }
  return replies;
}

core::Outcome<std::string> ServerClient::TypeOf(std::string_view key) {
  const auto type = Ask({"TYPE", key});
  if (!type) return tl::unexpected(type.error());
  if (!type->is_error()) return type->text;
  if (!type->text.starts_with("NOPERM")) return tl::unexpected(type->text);
  // A user who may only run BF.* has no cuckoo filters.
  const auto info = Ask({"BF.INFO", key});
  if (!info) return tl::unexpected(info.error());
  if (!info->is_error()) return std::string(core::kBloomValueName);
  return info->text.find("not found") == std::string::npos ? tl::unexpected(type->text)
                                                           : core::Outcome<std::string>("none");
}

core::Outcome<bool> ServerClient::HoldsCuckoo(std::string_view key) {
  return TypeOf(key).map([](const std::string& type) { return type == core::kCuckooValueName; });
}

core::Outcome<bool> ServerClient::HoldsNothing(std::string_view key) {
  return TypeOf(key).map([](const std::string& type) { return type == "none"; });
}

std::string ServerClient::NoFilter(std::string_view key, std::string_view way) {
  const std::string text = "there is no filter " + core::Quoted(key);
  const std::string nearest = SimilarName(key);
  if (!nearest.empty())
    return text + "; did you mean " + core::Quoted(nearest) + "?" + (way.empty() ? "" : " ") + std::string(way);
  return text + (way.empty() ? "" : ": ") + std::string(way);
}

std::string ServerClient::SimilarName(std::string_view key) {
  // One step of a scan, so that it costs a server of many names no more than one of few.
  const auto scanned = Ask({"SCAN", "0", "COUNT", "1000"});
  if (!scanned || scanned->elements.size() != 2) return "";
  std::vector<std::string> names;
  for (const Reply& each : scanned->elements[1].elements) names.push_back(each.text);
  return std::string(NearestName(key, names));
}

}  // namespace bitsieve::cli
