#include "server/commands/notices.h"

#include "core/filters/redis_cuckoo.h"
#include "core/filters/scalable_filter.h"

namespace bitsieve::server {
namespace {

using core::AddOutcome;

size_t SubFilters(const core::Filter& filter) {
  const core::FilterKind kind = filter.params().kind;
  if (kind == core::FilterKind::kWindow || kind == core::FilterKind::kRibbon) return 1;
  if (const auto* chain = dynamic_cast<const core::ScalableFilter*>(&filter)) return chain->Links().size();
  if (const auto* cuckoo = dynamic_cast<const core::RedisCuckoo*>(&filter)) return cuckoo->filters();
  return filter.Info().links;
}

bool IsForWantOfRoom(AddOutcome outcome) {
  return outcome == AddOutcome::kFull || outcome == AddOutcome::kCannotGrow || outcome == AddOutcome::kWindowFull;
}

}  // namespace

void AddNotice::Begin(bool counts_repeats) {
  repeats_ = counts_repeats && filter_.capabilities().repeats;
  sub_filters_ = SubFilters(filter_);
}

void AddNotice::LookAt(std::span<const AddOutcome> outcomes) {
  for (const AddOutcome outcome : outcomes) {
    changed_ += outcome == AddOutcome::kAdded || (repeats_ && outcome == AddOutcome::kPresent);
    full_ |= IsForWantOfRoom(outcome);
  }
}

void AddNotice::Publish(size_t times) {
  for (size_t i = 0; i < times; ++i) NotifyChanged(context_);
  const std::string_view name = context_.arguments[1];
  if (SubFilters(filter_) > sub_filters_) Notify(context_, EventClass::kFilter, "grown", name);
  if (full_) Notify(context_, EventClass::kFilter, "full", name);
}

}  // namespace bitsieve::server
