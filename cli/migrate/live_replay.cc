#include "cli/migrate/live_replay.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "commands/filter_commands.h"
#include "core/base/glob.h"
#include "core/base/memory_budget.h"
#include "core/base/parse.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kMaxBytesUnsent = 1 << 20;
constexpr size_t kMaxCommandsUnsent = 1000;

template <size_t size>
bool IsOneOf(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool ChangesFilter(std::string_view name) {
  const commands::CommandRow* const row = commands::FindFilterCommand(name);
  return name == "restore" || (row != nullptr && (row->flags & commands::kWrite) != 0);
}

constexpr std::array<std::string_view, 5> kOfOneName = {"expire", "pexpire", "expireat", "pexpireat", "persist"};
constexpr std::array<std::string_view, 3> kOfTwoNames = {"rename", "renamenx", "copy"};
constexpr std::array<std::string_view, 2> kOfManyNames = {"del", "unlink"};
// Commands that could remove more from the new server than came from the old one.
constexpr std::array<std::string_view, 3> kOfAllNames = {"flushall", "flushdb", "swapdb"};

// Returns the client command that does what a command of bitsieve.so to its replicas does; any other command is
// returned unchanged.
core::Outcome<std::vector<std::string>> FromModule(std::string_view name, const std::vector<std::string>& words) {
  if (name == "bf.content" && words.size() == 4)
    return std::vector<std::string>{"BF.LOADCHUNK", words[1], words[2], words[3]};
  // A window of time is moved by as much as this comes late.
  if (name == "bf.at" && words.size() > 3) {
    std::vector<std::string> inner = {words[3], words[1]};
    inner.insert(inner.end(), words.begin() + 4, words.end());
    return inner;
  }
  if (name != "bf.made" || words.size() != 3) return words;
  const auto params = core::DecodeMadeParams(words[2]);
  if (!params) return tl::unexpected<std::string>("it sent BF.MADE with parameters that no filter can have");
  core::MemoryBudget memory;
  const auto filter = core::MakeFilter(*params, memory, core::SystemClock());
  if (!filter) return tl::unexpected(filter.error().message);
  const auto dump = core::DumpFilter(**filter);
  if (!dump) return tl::unexpected(dump.error().message);
  return std::vector<std::string>{"BF.LOADCHUNK", words[1], "1", *dump};
}

}  // namespace

bool LiveReplay::Concerns(const std::vector<std::string>& words, size_t first, size_t last) const {
  for (size_t i = first; i <= last; ++i) {
    if (core::GlobMatch(pattern_, words[i])) return true;
  }
  return false;
}

core::Outcome<void> LiveReplay::Add(const std::vector<std::string>& received) {
  if (received.empty()) return {};
  const std::string command = core::LowerCase(received[0]);
  if (command == "select") {
    is_first_database_ = received.size() == 2 && received[1] == "0";
    return {};
  }
  if (!is_first_database_ && command != "flushall") return {};
  if (IsOneOf(kOfAllNames, command)) {
    return tl::unexpected("the old server executed " + received[0] + ", which is not applied to the new one");
  }
  const auto words = FromModule(command, received);
  if (!words) return tl::unexpected("the old server: " + words.error());
  const std::string name = core::LowerCase((*words)[0]);
  const bool of_filter = ChangesFilter(name);
  const size_t last = of_filter || IsOneOf(kOfOneName, name) ? 1
                      : IsOneOf(kOfTwoNames, name)           ? 2
                      : IsOneOf(kOfManyNames, name)          ? words->size() - 1
                                                             : 0;
  if (last == 0 || words->size() <= last || !Concerns(*words, 1, last)) return {};
  AppendCommandHead(bytes_, words->size());
  for (const std::string& word : *words) AppendWord(bytes_, word);
  of_filters_.push_back(of_filter);
  return bytes_.size() < kMaxBytesUnsent && of_filters_.size() < kMaxCommandsUnsent ? core::Outcome<void>() : Send();
}

core::Outcome<void> LiveReplay::Finish() { return Send(); }

core::Outcome<void> LiveReplay::Send() {
  if (of_filters_.empty()) return {};
  if (auto sent = target_.Send(bytes_); !sent) return tl::unexpected("the new server: " + sent.error());
  for (const bool of_filter : of_filters_) {
    const auto reply = target_.Receive();
    if (!reply) return tl::unexpected("the new server: " + reply.error());
    ++commands_;
    if (!of_filter || !reply->is_error()) continue;  // the name may hold another type of value
    ++refused_;
    if (first_refusal_.empty()) first_refusal_ = reply->text;
  }
  bytes_.clear();
  of_filters_.clear();
  return {};
}

}  // namespace bitsieve::cli
