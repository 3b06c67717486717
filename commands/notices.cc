#include "commands/notices.h"

namespace bitsieve::commands {
namespace {

using core::AddOutcome;

bool IsForWantOfRoom(AddOutcome outcome) {
  return outcome == AddOutcome::kFull || outcome == AddOutcome::kCannotGrow || outcome == AddOutcome::kWindowFull;
}

}  // namespace

void AddNotice::Begin(bool counts_repeats) {
  repeats_ = counts_repeats && filter_.capabilities().repeats;
  sub_filters_ = filter_.SubFilters();
}

void AddNotice::LookAt(std::span<const AddOutcome> outcomes) {
  for (const AddOutcome outcome : outcomes) {
    changed_ += outcome == AddOutcome::kAdded || outcome == AddOutcome::kRenewed ||
                (repeats_ && outcome == AddOutcome::kPresent);
    full_ |= IsForWantOfRoom(outcome);
  }
}

void AddNotice::Publish(size_t times) {
  for (size_t i = 0; i < times; ++i) NotifyChanged(context_);
  const std::string_view name = context_.arguments[1];
  if (filter_.SubFilters() > sub_filters_) Notify(context_, EventClass::kFilter, "grown", name);
  if (full_) Notify(context_, EventClass::kFilter, "full", name);
}

}  // namespace bitsieve::commands
