// redis_bloom_filter.h: a filter of RedisBloom's Bloom type: its answers, its growth (redis_bloom_chain.h) and the
// header in which RedisBloom describes one (BF.SCANDUMP's first chunk) are RedisBloom's.
//
// Small       while all sub-filters together have at most kMaxSmallBytes, they lie in as few blocks of memory as they
//             can: the first one's bits after the filter itself, those of each further one after a Link:
//
//               filter | items, bits, hashes, use | first sub-filter's bits ...
//                 newest -> Link | items, ... | bits ...  -> older Link | ... -> (the first)
//
//             Where one block would be rounded up to more than two, the bits have a block of their own, and a pointer
//             to it takes their place. Shapes are not kept: they follow from the parameters.
// Large       beyond that, and if its shapes are not those of today, it has a RedisBloomChain, which keeps the bits
//             where they are. Rare queries are answered by such a chain even while the filter is small: by one that is
//             made for the query.
// Cost        small: 80 bytes and the bits; 24 bytes and the bits for each further sub-filter. RedisBloom takes 96 and
//             64.
// Reading     a header is hostile until it is checked. Stored numbers are kept, never worked out again: versions have
//             differed in how they shared the rate and rounded.
// Images      of a small one are copies.
// Threads     thread-safe; MayContain and Prefetch take no lock.
// Persisted   type 7; docs/filters/redisbloom.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/families/redisbloom/redis_bloom_chain.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

class RedisBloomFilter final : public Filter {
 public:
  static constexpr uint64_t kMaxSmallBytes = 64 << 10;  // of bits
  static constexpr uint32_t kMaxSmallSubFilters = 64;
  static constexpr uint32_t kMaxSmallHashes = 255;

  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget);
  // Makes a filter as ChainType::made_of does, of a chain that is a RedisBloomChain.
  static Result<std::unique_ptr<Filter>> Of(std::unique_ptr<ScalableFilter> chain, MemoryBudget& budget);

  ~RedisBloomFilter() override;

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override;
  FilterInfo Info() const override;
  // Returns the size that RedisBloom reports.
  uint64_t size_bytes() const override;
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override;
  std::vector<SubFilterInfo> DescribeSubFilters() const override;
  bool TouchesFreshPages(uint64_t items) const override;
  bool HasRoomForOne() const override;
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override;

  // Returns the header of the current content.
  std::string Header() const;
  // Returns the bytes that begin at `offset` of the sub-filters' bytes end to end, oldest first: at most `most`, and
  // none beyond the end of a sub-filter, as RedisBloom hands them out. None beyond the last.
  std::string ReadPiece(uint64_t offset, size_t most) const;
  // Puts bytes in place of those that ReadPiece returns from `offset` on, as RedisBloom does when chunks arrive of a
  // filter that is there. False, and nothing done, if they are not all of one sub-filter.
  bool WritePiece(uint64_t offset, std::string_view bytes);

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return &use_; }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  struct Link;
  struct Large;
  // One sub-filter of a small filter, or the first one of a large filter that was small.
  struct Bits {
    uint64_t* words;
    uint32_t count;
    uint32_t hashes;

    uint64_t bytes() const { return count / 8; }
    bool Contain(const KeyHash& hash) const;
    // False, and nothing done, if all bits of the hash are set.
    bool Add(const KeyHash& hash) const;
  };
  struct Part {
    Bits bits;
    uint32_t items;
  };

  // Makes a filter without a small sub-filter (`bits` is 0), or with one.
  RedisBloomFilter(const FilterParams& params, MemoryBudget& budget, uint32_t bits, uint32_t hashes);
  static bool IsSmall(const SubFilterShape& shape);
  static Result<std::unique_ptr<RedisBloomFilter>> MakeEmpty(const FilterParams& params, const SubFilterShape* shape,
                                                             MemoryBudget& budget);
  static bool CanBeSmall(const RedisBloomChain& chain);
  static std::optional<SubFilterShape> ShapeAfter(const FilterParams& params, const SubFilterShape* older,
                                                  size_t index);
  // Copies the bits of a chain into this filter, which is empty and has as many.
  Status CopyFrom(const RedisBloomChain& chain) BITSIEVE_REQUIRES(writers());
  void Hold(std::unique_ptr<RedisBloomChain> chain) BITSIEVE_REQUIRES(writers());
  // kOutOfMemory if the budget refuses. May throw std::bad_alloc.
  Status AppendLink(const SubFilterShape& shape) BITSIEVE_REQUIRES(writers());

  const Link* newest_link() const;
  const Large* large() const;
  RedisBloomChain* chain() const;
  Bits FirstBits() const;
  static Bits BitsOf(const Link& link);
  // The next four functions work on the sub-filters of a small filter.
  bool Holds(const KeyHash& hash) const;
  Bits NewestBits() const;
  std::atomic<uint32_t>& NewestItems();
  uint32_t PartCount() const;
  // Returns the sub-filters of a small filter, oldest first.
  std::vector<Part> Parts() const BITSIEVE_REQUIRES(writers());
  std::vector<SubFilterRecord> Records() const BITSIEVE_REQUIRES(writers());
  // Returns a chain of the same bits.
  Result<std::unique_ptr<RedisBloomChain>> LendChain(MemoryBudget& budget) const BITSIEVE_REQUIRES(writers());
  // Calls ask(chain) with the filter's own chain, or with one made for the call.
  template <class Ask>
  auto AskChain(const Ask& ask) const;

  AddOutcome AddOne(const KeyHash& hash, AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  static size_t AddToChain(RedisBloomChain& chain, std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes);
  AddOutcome Grow() BITSIEVE_REQUIRES(writers());
  AddOutcome BecomeLarge() BITSIEVE_REQUIRES(writers());
  uint64_t OwnBlocks() const;
  static uint64_t BlocksOf(const Link& link);

  // Filter::own_word() is the newest Link; or a Large, plus 1; or 0. Released once it is complete.
  const uint8_t hashes_;             // of the first sub-filter
  std::atomic<uint32_t> items_{0};   // of the first sub-filter; released after an item's bits are set
  const uint32_t bits_;              // of the first sub-filter, with kBitsApart; 0: there is none, it is large
  std::atomic<uint32_t> united_{0};  // changes of content by WritePiece
  UseCounters use_;
};

}  // namespace bitsieve::core
