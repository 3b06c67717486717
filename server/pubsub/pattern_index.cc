#include "server/pubsub/pattern_index.h"

#include <algorithm>

#include "core/base/glob.h"
#include "core/base/roll_back.h"

namespace bitsieve::server {

std::string_view PatternIndex::PrefixOf(std::string_view text) { return core::GlobPrefix(text).substr(0, kMaxPrefix); }

PatternPtr PatternIndex::Find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? nullptr : found->second;
}

void PatternIndex::Insert(const PatternPtr& pattern) {
  const std::string_view prefix = PrefixOf(*pattern->text);
  const auto place = by_prefix_.try_emplace(std::string(prefix)).first;
  Bucket& bucket = place->second;
  core::RollBack unused([&]() noexcept {
    if (bucket.patterns.empty()) by_prefix_.erase(place);
  });
  bucket.patterns.push_back(pattern);
  core::RollBack not_found([&]() noexcept { bucket.patterns.pop_back(); });
  by_text_.emplace(*pattern->text, pattern);
  not_found.Dismiss();
  unused.Dismiss();
  pattern->place = bucket.patterns.size() - 1;
  bucket.bytes += pattern->text->size();
  ++lengths_[prefix.size()];
}

void PatternIndex::Erase(const PatternPtr& pattern) noexcept {
  const std::string_view prefix = PrefixOf(*pattern->text);
  const auto found = by_prefix_.find(prefix);
  Bucket& bucket = found->second;
  // The last one takes its place.
  bucket.patterns.back()->place = pattern->place;
  std::swap(bucket.patterns[pattern->place], bucket.patterns.back());
  bucket.patterns.pop_back();
  bucket.bytes -= pattern->text->size();
  --lengths_[prefix.size()];
  if (bucket.patterns.empty()) by_prefix_.erase(found);
  by_text_.erase(by_text_.find(*pattern->text));
}

const PatternIndex::Bucket* PatternIndex::BucketOf(std::string_view channel, size_t prefix) const {
  if (lengths_[prefix] == 0) return nullptr;
  const auto found = by_prefix_.find(channel.substr(0, prefix));
  return found == by_prefix_.end() ? nullptr : &found->second;
}

uint64_t PatternIndex::CostOf(std::string_view channel) const {
  constexpr uint64_t kEach = 64;
  uint64_t cost = 0;
  for (size_t prefix = 0; prefix <= std::min(channel.size(), kMaxPrefix); ++prefix) {
    const Bucket* const bucket = BucketOf(channel, prefix);
    if (bucket == nullptr) continue;
    const uint64_t patterns = bucket->patterns.size();
    cost += patterns * (kEach + channel.size()) + core::GlobCost(bucket->bytes, channel.size());
  }
  return cost;
}

// From the last one to the first: what takes the place of an erased one was visited, or is yet to be.
void PatternIndex::Next(std::string_view channel, Walk& walk, std::vector<PatternPtr>& step) const {
  step.clear();
  for (; walk.prefix <= std::min(channel.size(), kMaxPrefix); ++walk.prefix, walk.left = SIZE_MAX) {
    const Bucket* const bucket = BucketOf(channel, walk.prefix);
    if (bucket == nullptr) continue;
    const size_t end = std::min(walk.left, bucket->patterns.size());
    if (end == 0) continue;
    const size_t begin = end - std::min(end, kStep);
    step.assign(bucket->patterns.begin() + static_cast<ptrdiff_t>(begin),
                bucket->patterns.begin() + static_cast<ptrdiff_t>(end));
    walk.left = begin;
    return;
  }
}

}  // namespace bitsieve::server
