#include "cli/migrate/content_check.h"

#include <utility>

#include "cli/client/units.h"

namespace bitsieve::cli {
namespace {

// Returns how the content differs; empty if it does not.
std::string DifferenceOf(const ContentDigest& before, const ContentDigest& now) {
  if (now.is_missing) return "it is missing on the new server";
  const bool is_known = !before.type.empty() && !now.type.empty();
  if (is_known && before.type != now.type) return "its type was " + before.type + " and is now " + now.type;
  if (!now.problem.empty()) return "it cannot be read on the new server: " + now.problem;
  if (before.bytes != now.bytes) {
    return "its content had " + CountText(before.bytes) + " bytes and now has " + CountText(now.bytes);
  }
  return before.checksum == now.checksum ? "" : "its content differs";
}

}  // namespace

ContentCheck::ContentCheck(ContentReader& before, ContentReader& now, Progress progress, Wait wait)
    : before_(before), now_(now), progress_(std::move(progress)), wait_(std::move(wait)) {}

core::Outcome<void> ContentCheck::Run(std::vector<const FoundFilter*> filters) {
  for (int pass = 1; !filters.empty(); ++pass) {
    if (auto done = RunPass(filters, pass == kMaxPasses); !done) return done;
    filters = std::exchange(again_, {});
    if (!filters.empty()) wait_();
  }
  return {};
}

core::Outcome<void> ContentCheck::RunPass(const std::vector<const FoundFilter*>& filters, bool is_last) {
  uint64_t group_bytes = 0;
  for (const FoundFilter* each : filters) {
    const uint64_t bytes = before_.SizeOf(*each);
    const bool is_small = bytes <= kMaxSmallContentBytes;
    const bool fits = is_small && group_.size() < kMaxGroup && group_bytes + bytes <= kMaxGroupBytes;
    if (!fits && !group_.empty()) {
      if (auto done = CompareGroup(is_last); !done) return done;
      group_bytes = 0;
    }
    group_.push_back(each);
    group_bytes += is_small ? bytes : kMaxGroupBytes + 1;  // a large filter has a group of its own
  }
  return CompareGroup(is_last);
}

core::Outcome<void> ContentCheck::CompareGroup(bool is_last) {
  before_.Begin(group_);
  now_.Begin(group_);
  while (true) {
    // Both sides work at the same time.
    const auto of_old = before_.Request();
    if (!of_old) return tl::unexpected("the old server: " + of_old.error());
    const auto of_new = now_.Request();
    if (!of_new) return tl::unexpected("the new server: " + of_new.error());
    if (!*of_old && !*of_new) break;
    if (auto received = before_.Receive(); !received) return tl::unexpected("the old server: " + received.error());
    if (auto received = now_.Receive(); !received) return tl::unexpected("the new server: " + received.error());
    if (group_.size() == 1) progress_(compared_bytes_ + before_.DigestOf(0).bytes);
  }
  for (size_t i = 0; i < group_.size(); ++i) Judge(*group_[i], before_.DigestOf(i), now_.DigestOf(i), is_last);
  group_.clear();
  progress_(compared_bytes_);
  return {};
}

void ContentCheck::Judge(const FoundFilter& filter, const ContentDigest& before, const ContentDigest& now,
                         bool is_last) {
  if (before.is_missing) {
    // A filter that has expired or was deleted is missing on both sides.
    if (now.is_missing) return;
    if (!is_last) return again_.push_back(&filter);
    report_.different.push_back({.name = filter.name, .reason = "it is missing on the old server"});
    return;
  }
  if (!before.problem.empty()) {
    if (!is_last) return again_.push_back(&filter);
    report_.unread.push_back({.name = filter.name, .reason = "it was not compared: " + before.problem});
    return;
  }
  std::string difference = DifferenceOf(before, now);
  if (difference.empty()) {
    ++report_.equal;
    report_.equal_bytes += before.bytes;
    compared_bytes_ += before.bytes;
  } else if (!is_last) {
    again_.push_back(&filter);
  } else {
    report_.different.push_back({.name = filter.name, .reason = std::move(difference)});
  }
}

}  // namespace bitsieve::cli
