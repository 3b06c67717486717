#include "commands/followed_filters.h"

#include <charconv>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::commands {

namespace {

constexpr size_t kHistoryDigits = 16;

}  // namespace

void FollowedFilters::Follow(core::Filter& filter) {
  const core::LockGuard lock(mutex_);
  if (const auto known = filter.history(); known != nullptr && known->KeepAlive()) return;
  EndIdle();
  auto history = std::make_shared<core::ChangeHistory>(memory_, clock_);
  histories_.push_back(history);
  filter.SetHistory(std::move(history));
}

void FollowedFilters::EndIdle() {
  std::erase_if(histories_, [](const std::weak_ptr<core::ChangeHistory>& weak) {
    const std::shared_ptr<core::ChangeHistory> history = weak.lock();
    if (history != nullptr && history->is_idle()) history->End();
    return history == nullptr || history->has_ended();
  });
}

std::string PositionText(const core::ChangePosition& position) {
  char digits[kHistoryDigits];
  const char* const end = std::to_chars(digits, digits + kHistoryDigits, position.history, 16).ptr;
  const std::string_view history(digits, static_cast<size_t>(end - digits));
  return std::string(kHistoryDigits - history.size(), '0').append(history).append("-") +
         std::to_string(position.changes);
}

std::optional<core::ChangePosition> ParsePosition(std::string_view text) {
  if (text.size() < kHistoryDigits + 2 || text[kHistoryDigits] != '-') return std::nullopt;
  const auto history = core::ParseHex(text.substr(0, kHistoryDigits));
  const auto changes = core::ParseUnsigned(text.substr(kHistoryDigits + 1));
  if (!history || !changes) return std::nullopt;
  return core::ChangePosition{*history, *changes};
}

}  // namespace bitsieve::commands
