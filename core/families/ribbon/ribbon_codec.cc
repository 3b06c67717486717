#include "core/families/ribbon/ribbon_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/ribbon/ribbon_filter.h"
#include "core/families/ribbon/ribbon_kernel.h"
#include "core/families/ribbon/ribbon_staging.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/image_header.h"
#include "core/filter/mapped_body.h"
#include "core/filter/parts_decoder.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

namespace {

// Persisted.
constexpr uint32_t kStaging = 0;
constexpr uint32_t kFrozen = 1;

constexpr uint64_t kMaxWords = uint64_t{1} << 40;

Status GetShape(ByteReader& in, RibbonHeader& header) {
  RibbonShape& shape = header.shape;
  shape.columns = in.GetClamped();
  shape.shards = in.Get<uint64_t>();
  shape.words = in.Get<uint64_t>();
  if (!in.ok()) return CorruptHeader("it ends within the shape");
  if (shape.columns == 0 || shape.columns >= kMaxRibbonColumns)
    return CorruptHeader("the number of columns is out of range");
  if (shape.words == 0 || shape.words > kMaxWords || shape.SizeBytes() % kLineBytes != 0) {
    return CorruptHeader("the number of words is out of range");
  }
  // A shard has a record and two blocks at least.
  const uint64_t least = 2 + 2 * shape.columns;
  if (shape.shards == 0 || shape.shards > shape.words / least)
    return CorruptHeader("the number of shards is out of range");
  // Every item has a slot of its own.
  if (header.items / kRibbonBlockSlots > shape.words / shape.columns)
    return CorruptHeader("it holds more items than it can");
  return {};
}

// A body of hashes, which come in pieces that may end within one.
class StagingDecoder final : public FilterDecoder {
 public:
  StagingDecoder(const RibbonHeader& header, std::unique_ptr<HashSet> hashes, MemoryBudget& budget)
      : header_(header), hashes_(std::move(hashes)), budget_(budget) {}

  uint64_t body_bytes() const override { return header_.body_bytes(); }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (hashes_->size() == header_.items) return CorruptBody("it is longer than the header says");
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
    if (hashes_->size() != header_.items || filled_ != 0) return CorruptBody("it is shorter than the header says");
    return RibbonStaging::FromHashes(header_.params, std::move(hashes_), budget_);
  }

 private:
  Status Insert(uint64_t hash) {
    if (hash == 0) return CorruptBody("a hash is 0");
    switch (hashes_->Insert(hash)) {
      case HashSet::Outcome::kAdded:
        return {};
      case HashSet::Outcome::kPresent:
        return CorruptBody("a hash appears twice");
      case HashSet::Outcome::kOutOfMemory:
        break;
    }
    return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter's items");
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

std::string EncodeRibbonHeader(const RibbonHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kRibbonType);
  ByteWriter out(bytes);
  PutParams(out, header.params);
  out.Put(header.frozen ? kFrozen : kStaging);
  out.Put(header.items);
  if (header.frozen) {
    out.Put(uint64_t{header.shape.columns});
    out.Put(header.shape.shards);
    out.Put(header.shape.words);
  }
  SealHeader(bytes);
  return bytes;
}

Result<RibbonHeader> DecodeRibbonHeader(std::string_view fields) {
  ByteReader in(fields);
  RibbonHeader header;
  header.params = GetParams(in, kRibbonType);
  const auto state = in.Get<uint32_t>();
  header.items = in.Get<uint64_t>();
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(header.params); !status) return CorruptHeader(status.error().message);
  if (state != kStaging && state != kFrozen) return CorruptHeader("the state is neither staging nor frozen");
  if (header.items > kMaxRibbonItems) return CorruptHeader("the number of items is out of range");
  header.frozen = state == kFrozen;
  if (header.frozen) {
    if (Status status = GetShape(in, header); !status) return tl::unexpected(std::move(status).error());
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last field");
  return header;
}

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

Result<std::unique_ptr<Filter>> MapRibbon(std::string_view fields, std::span<const std::byte> body,
                                          MemoryBudget& budget) {
  const Result<RibbonHeader> header = DecodeRibbonHeader(fields);
  if (!header) return tl::unexpected(header.error());
  if (!header->frozen) {
    return Fail(ErrorCode::kUnsupported, "a ribbon filter that is not frozen cannot be mapped; freeze it, or load it");
  }
  MappedBody rest(body);
  Result<BitMemory> memory = rest.Take(header->body_bytes());
  if (!memory) return tl::unexpected(std::move(memory).error());
  if (Status status = rest.CheckAtEnd(); !status) return tl::unexpected(std::move(status).error());
  return RibbonFilter::FromMemory(*header, std::move(*memory), budget);
}

}  // namespace bitsieve::core
