// false_positive_codec.h: known false positives in images, of every type alike: the image of a filter without them,
// with a header that counts them and their hashes at the end of its body; and back. docs/formats/filter.md has the
// bytes. Thread-compatible.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/filter/false_positive_list.h"
#include "core/filter/filter.h"
#include "core/filter/filter_factory.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

class FalsePositiveImage final : public FilterImage {
 public:
  // Called by the list's writer; the image holds the list as of now.
  explicit FalsePositiveImage(const FalsePositiveList& list);
  // Adds the image of the rest of the filter, captured at the same moment. Called once.
  void AddTo(std::unique_ptr<FilterImage> filter);

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return filter_->body_bytes() + record_.body_bytes(); }
  Status Read(uint64_t offset, std::span<std::byte> out) override;

 private:
  const FalsePositivesRecord record_;
  std::vector<KeyHash> hashes_;
  std::string header_;
  std::unique_ptr<FilterImage> filter_;
};

class FalsePositiveDecoder final : public FilterDecoder {
 public:
  // `filter` decodes the rest. kOutOfMemory if the budget refuses the list.
  static Result<std::unique_ptr<FilterDecoder>> Open(const FalsePositivesRecord& record,
                                                     std::unique_ptr<FilterDecoder> filter, MemoryBudget& budget);
  // Gives the false positives that were read to a filter that no other thread has. kCorrupt or kOutOfMemory.
  static Status Restore(const FalsePositivesRecord& record, std::span<const std::byte> hashes, Filter& filter,
                        MemoryBudget& budget);

  uint64_t body_bytes() const override { return filter_->body_bytes() + record_.body_bytes(); }
  Status Append(std::span<const std::byte> bytes) override;
  std::span<std::byte> Room(uint64_t offset) override;
  void Commit(uint64_t offset, uint64_t bytes) override;
  Result<std::unique_ptr<Filter>> Finish() override;

 private:
  FalsePositiveDecoder(const FalsePositivesRecord& record, std::unique_ptr<FilterDecoder> filter,
                       MemoryReservation memory, MemoryBudget& budget);
  uint64_t filled() const { return filled_.load(std::memory_order_relaxed); }

  const FalsePositivesRecord record_;
  const std::unique_ptr<FilterDecoder> filter_;
  const MemoryReservation memory_;
  MemoryBudget& budget_;
  std::vector<std::byte> hashes_;
  uint64_t appended_ = 0;
  // Bytes of the hashes that are there. Relaxed: as PartsDecoder's.
  std::atomic<uint64_t> filled_{0};
};

}  // namespace bitsieve::core
