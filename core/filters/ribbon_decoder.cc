#include "core/filters/ribbon_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/filters/parts_decoder.h"
#include "core/filters/ribbon_filter.h"
#include "core/filters/ribbon_staging.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

// A body of hashes, which come in pieces that may end within one.
class StagingDecoder final : public FilterDecoder {
 public:
  StagingDecoder(const RibbonHeader& header, std::unique_ptr<HashSet> hashes, MemoryBudget& budget)
      : header_(header), hashes_(std::move(hashes)), budget_(budget) {}

  uint64_t body_bytes() const override { return header_.body_bytes(); }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (hashes_->size() == header_.items) return Corrupt("it is longer than the header says");
      const size_t count = std::min(bytes.size(), sizeof(uint64_t) - filled_);
      std::memcpy(word_.data() + filled_, bytes.data(), count);
      bytes = bytes.subspan(count);
      filled_ = (filled_ + count) % sizeof(uint64_t);
      if (filled_ != 0) break;
      uint64_t hash;
      std::memcpy(&hash, word_.data(), sizeof hash);
      if (Status status = Insert(hash); !status) return status;
    }
    return {};
  }

  Result<std::unique_ptr<Filter>> Finish() override {
    if (hashes_->size() != header_.items || filled_ != 0) return Corrupt("it is shorter than the header says");
    return RibbonStaging::FromHashes(header_.params, std::move(hashes_), budget_);
  }

 private:
  Status Insert(uint64_t hash) {
    if (hash == 0) return Corrupt("a hash is 0");
    switch (hashes_->Insert(hash)) {
      case HashSet::Outcome::kAdded:
        return {};
      case HashSet::Outcome::kPresent:
        return Corrupt("a hash is there twice");
      case HashSet::Outcome::kOutOfMemory:
        break;
    }
    return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a filter's items");
  }

  const RibbonHeader header_;
  std::unique_ptr<HashSet> hashes_;
  MemoryBudget& budget_;
  std::array<std::byte, sizeof(uint64_t)> word_{};
  size_t filled_ = 0;  // bytes of the word
};

class FrozenDecoder final : public PartsDecoder {
 public:
  FrozenDecoder(const RibbonHeader& header, BitMemory memory, MemoryBudget& budget)
      : header_(header), memory_(std::move(memory)), budget_(budget) {
    AddPart(memory_.bytes().first(header_.body_bytes()));
  }

 private:
  Status FinishPart(size_t, uint64_t) override { return {}; }
  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return RibbonFilter::FromMemory(header_, std::move(memory_), budget_);
  }

  const RibbonHeader header_;
  BitMemory memory_;
  MemoryBudget& budget_;
};

}  // namespace

Result<std::unique_ptr<FilterDecoder>> OpenRibbon(std::string_view fields, MemoryBudget& budget) {
  const Result<RibbonHeader> header = DecodeRibbonHeader(fields);
  if (!header) return tl::unexpected(header.error());
  if (header->frozen) {
    Result<BitMemory> memory = BitMemory::Allocate(header->shape.SizeBytes(), budget);
    if (!memory) return tl::unexpected(std::move(memory).error());
    return std::make_unique<FrozenDecoder>(*header, std::move(*memory), budget);
  }
  Result<std::unique_ptr<HashSet>> hashes = HashSet::Make(budget);
  if (!hashes) return tl::unexpected(std::move(hashes).error());
  return std::make_unique<StagingDecoder>(*header, std::move(*hashes), budget);
}

}  // namespace bitsieve::core
