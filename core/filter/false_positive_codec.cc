#include "core/filter/false_positive_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bitsieve::core {

namespace {

tl::unexpected<Error> OutOfMemory() {
  return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for the false positives of a filter");
}

}  // namespace

FalsePositiveImage::FalsePositiveImage(const FalsePositiveList& list)
    : record_{.added = list.added(), .hashes = list.size()}, hashes_(list.size()) {
  list.CopyTo(hashes_);
}

void FalsePositiveImage::AddTo(std::unique_ptr<FilterImage> filter) {
  header_ = HeaderWith(record_, filter->header());
  filter_ = std::move(filter);
  filter_->is_captured_ = true;
}

Status FalsePositiveImage::Read(uint64_t offset, std::span<std::byte> out) {
  const uint64_t end = filter_->body_bytes();
  if (offset < end) {
    const std::span<std::byte> of_filter = out.first(std::min<uint64_t>(out.size(), end - offset));
    if (Status status = filter_->Read(offset, of_filter); !status) return status;
    out = out.subspan(of_filter.size());
    offset = end;
  }
  if (!out.empty()) std::memcpy(out.data(), std::as_bytes(std::span(hashes_)).data() + (offset - end), out.size());
  return {};
}

FalsePositiveDecoder::FalsePositiveDecoder(const FalsePositivesRecord& record, std::unique_ptr<FilterDecoder> filter,
                                           MemoryReservation memory, MemoryBudget& budget)
    : record_(record),
      filter_(std::move(filter)),
      memory_(std::move(memory)),
      budget_(budget),
      hashes_(record.body_bytes()) {}

Result<std::unique_ptr<FilterDecoder>> FalsePositiveDecoder::Open(const FalsePositivesRecord& record,
                                                                  std::unique_ptr<FilterDecoder> filter,
                                                                  MemoryBudget& budget) {
  MemoryReservation memory = MemoryReservation::TryTake(budget, record.body_bytes());
  if (!memory.held()) return OutOfMemory();
  return std::unique_ptr<FilterDecoder>(new FalsePositiveDecoder(record, std::move(filter), std::move(memory), budget));
}

Status FalsePositiveDecoder::Append(std::span<const std::byte> bytes) {
  const uint64_t of_filter = filter_->body_bytes() - std::min(appended_, filter_->body_bytes());
  const std::span<const std::byte> body = bytes.first(std::min<uint64_t>(bytes.size(), of_filter));
  const std::span<const std::byte> rest = bytes.subspan(body.size());
  if (rest.size() > hashes_.size() - filled()) return CorruptBody("it is longer than the header says");
  if (!body.empty()) {
    if (Status status = filter_->Append(body); !status) return status;
  }
  std::copy(rest.begin(), rest.end(), hashes_.begin() + static_cast<ptrdiff_t>(filled()));
  filled_.fetch_add(rest.size(), std::memory_order_relaxed);
  appended_ += bytes.size();
  return {};
}

std::span<std::byte> FalsePositiveDecoder::Room(uint64_t offset) {
  const uint64_t end = filter_->body_bytes();
  if (offset < end) return filter_->Room(offset);
  return std::span(hashes_).subspan(std::min<uint64_t>(offset - end, hashes_.size()));
}

void FalsePositiveDecoder::Commit(uint64_t offset, uint64_t bytes) {
  if (offset < filter_->body_bytes()) return filter_->Commit(offset, bytes);
  filled_.fetch_add(bytes, std::memory_order_relaxed);
}

Status FalsePositiveDecoder::Restore(const FalsePositivesRecord& record, std::span<const std::byte> hashes,
                                     Filter& filter, MemoryBudget& budget) {
  FalsePositiveSlot* const slot = filter.false_positives();
  if (slot == nullptr) return CorruptBody("it has known false positives of a filter that cannot have false positives");
  std::unique_ptr<FalsePositiveList> list = FalsePositiveList::Make(budget);
  if (list == nullptr) return OutOfMemory();
  for (; !hashes.empty(); hashes = hashes.subspan(sizeof(KeyHash))) {
    KeyHash hash;
    std::memcpy(&hash, hashes.data(), sizeof hash);
    if (list->Contains(hash)) return CorruptBody("a false positive appears twice");
    if (list->Add(hash) != RecordOutcome::kRecorded) return OutOfMemory();
  }
  list->CountAdded(record.added);
  slot->Set(list.release());
  return {};
}

Result<std::unique_ptr<Filter>> FalsePositiveDecoder::Finish() {
  if (filled() != hashes_.size()) return CorruptBody("it is shorter than the header says");
  Result<std::unique_ptr<Filter>> filter = filter_->Finish();
  if (!filter) return filter;
  if (Status status = Restore(record_, hashes_, **filter, budget_); !status) return tl::unexpected(status.error());
  return filter;
}

}  // namespace bitsieve::core
