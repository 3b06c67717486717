#include "cli/migrate/sample_check.h"

#include <algorithm>
#include <random>
#include <vector>

#include "cli/bulk/input.h"
#include "cli/bulk/record_reader.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kItemsOfACommand = 500;

// Reservoir sampling: Vitter, Random Sampling with a Reservoir, 1985, algorithm R.
core::Outcome<std::vector<std::string>> SampleOf(const std::string& file) {
  auto input = Input::Open(file, true);
  if (!input) return tl::unexpected(input.error());
  RecordReader reader([&input] { return input->Read(); }, {});
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::string> sample;
  for (uint64_t seen = 0;; ++seen) {
    const auto record = reader.Next();
    if (!record) return tl::unexpected(file + ": " + record.error());
    if (!*record) return sample;
    if (seen < kSampleItems) {
      sample.emplace_back((*record)->item);
    } else if (const uint64_t place = std::uniform_int_distribution<uint64_t>(0, seen)(random); place < kSampleItems) {
      sample[place] = (*record)->item;
    }
  }
}

core::Outcome<std::vector<bool>> AskFor(const std::vector<std::string>& items, const std::string& key,
                                        ServerClient& server) {
  const auto is_cuckoo = server.HoldsCuckoo(key);
  if (!is_cuckoo) return tl::unexpected(is_cuckoo.error());
  const std::string_view command = *is_cuckoo ? "CF.MEXISTS" : "BF.MEXISTS";
  std::vector<bool> found;
  while (found.size() < items.size()) {
    const size_t count = std::min(kItemsOfACommand, items.size() - found.size());
    std::string bytes;
    AppendCommandHead(bytes, 2 + count);
    AppendWord(bytes, command);
    AppendWord(bytes, key);
    for (size_t i = 0; i < count; ++i) AppendWord(bytes, items[found.size() + i]);
    if (auto sent = server.Send(bytes); !sent) return tl::unexpected(sent.error());
    const auto reply = server.Receive();
    if (!reply) return tl::unexpected(reply.error());
    if (reply->is_error()) return tl::unexpected(reply->text);
    if (reply->elements.size() != count) return tl::unexpected<std::string>("the reply has the wrong number of items");
    for (const Reply& each : reply->elements) found.push_back(each.integer != 0);
  }
  return found;
}

}  // namespace

core::Outcome<SampleResult> CheckSample(const std::string& key, const std::string& file, ServerClient* old_server,
                                        ServerClient& new_server) {
  const auto items = SampleOf(file);
  if (!items) return tl::unexpected(items.error());
  const auto now = AskFor(*items, key, new_server);
  if (!now) return tl::unexpected("the new server: " + now.error());
  auto before = core::Outcome<std::vector<bool>>(std::vector<bool>(items->size(), true));
  if (old_server != nullptr) before = AskFor(*items, key, *old_server);
  if (!before) return tl::unexpected("the old server: " + before.error());
  SampleResult result{.items = items->size()};
  for (size_t i = 0; i < items->size(); ++i) {
    result.before += before->at(i);
    result.now += now->at(i);
    result.missing += before->at(i) && !now->at(i);
  }
  return result;
}

}  // namespace bitsieve::cli
