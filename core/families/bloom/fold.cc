#include "core/families/bloom/fold.h"

#include <algorithm>
#include <bit>

#include "core/base/always_inline.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

namespace {

constexpr unsigned kFoldWordBits = 64;

// ORs each bit of the words with the `width` - 1 above it. The loops over words are such that compilers turn them into
// instructions for several words.
void OrNeighbours(std::span<uint64_t> words, uint64_t width) {
  for (uint64_t done = 1, by = 0; done < width; done += by) {
    by = std::min(done, width - done);
    for (size_t i = 0; i + 1 < words.size(); ++i) words[i] |= words[i] >> by | words[i + 1] << (kFoldWordBits - by);
    words.back() |= words.back() >> by;
  }
}

#if defined(__x86_64__)
// In assembler, so that it can be inlined into code that also runs where the processor does not have it.
uint64_t Pext(uint64_t word, uint64_t mask) {
  uint64_t bits = 0;
  __asm__("pextq %2, %1, %0" : "=r"(bits) : "r"(word), "rm"(mask));
  return bits;
}
#endif

uint64_t BitsBelow(uint64_t bit) { return bit == kFoldWordBits ? ~uint64_t{0} : (uint64_t{1} << bit) - 1; }

// Returns whether any of these bits is set.
bool AnyOf(const FoldSource& from, uint64_t first, uint64_t end) {
  for (uint64_t word = first / kFoldWordBits; word * kFoldWordBits < end; ++word) {
    const uint64_t begin = word * kFoldWordBits;
    uint64_t bits = from[word];
    if (first > begin) bits &= ~BitsBelow(first - begin);
    if (end < begin + kFoldWordBits) bits &= BitsBelow(end - begin);
    if (bits != 0) return true;
  }
  return false;
}

}  // namespace

uint64_t FoldableSize(uint64_t units) {
  constexpr uint64_t kCostOfOne = 100;  // a hundredth
  constexpr uint64_t kLargest = 8;
  uint64_t multiple = 1;
  for (uint64_t n = 2; n <= kLargest && multiple * n <= units / kCostOfOne; ++n) multiple *= n;
  return (units + multiple - 1) / multiple * multiple;
}

BitFold::BitFold(uint64_t divisor) : divisor_(divisor) {
  if (divisor >= kFoldWordBits) return;
  for (uint64_t word = 0; word < divisor; ++word) {
    uint64_t mask = 0;
    for (uint64_t bit = 0; bit < kFoldWordBits; ++bit) {
      if ((word * kFoldWordBits + bit) % divisor == 0) mask |= uint64_t{1} << bit;
    }
    of_word_.push_back(Compress(mask));
  }
}

BitFold::Compression BitFold::Compress(uint64_t mask) {
  Compression compression{.mask = mask, .moves = {}, .bits = static_cast<unsigned>(std::popcount(mask))};
  uint64_t zeros = ~mask << 1;  // right of each bit
  for (unsigned step = 0; step < kSteps; ++step) {
    uint64_t odd = zeros;  // whether their number is odd
    for (unsigned shift = 1; shift < kFoldWordBits; shift *= 2) odd ^= odd << shift;
    const uint64_t moved = odd & mask;
    compression.moves[step] = moved;
    mask = (mask ^ moved) | moved >> (1U << step);
    zeros &= ~odd;
  }
  return compression;
}

void BitFold::operator()(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const {
  if (of_word_.empty()) return ManyToOne(from, first, to);
#if defined(__x86_64__)
  static const bool has_pext = __builtin_cpu_supports("bmi2") != 0;
  if (has_pext) {
    return FewToOne(from, first, to,
                    [](uint64_t word, const Compression& compression) { return Pext(word, compression.mask); });
  }
#endif
  FewToOne(from, first, to, [](uint64_t word, const Compression& compression) {
    uint64_t bits = word & compression.mask;
    for (unsigned step = 0; step < kSteps; ++step) {
      const uint64_t moving = bits & compression.moves[step];
      bits = (bits ^ moving) | moving >> (1U << step);
    }
    return bits;
  });
}

template <class CompressWord>
BITSIEVE_ALWAYS_INLINE void BitFold::FewToOne(const FoldSource& from, uint64_t first, std::span<uint64_t> to,
                                              const CompressWord& compress) const {
  constexpr size_t kAtOnce = 16;  // words of the small array
  std::array<uint64_t, kAtOnce * kFoldWordBits> scratch;
  for (; !to.empty(); first += kAtOnce, to = to.subspan(std::min(kAtOnce, to.size()))) {
    const std::span<uint64_t> folded = to.first(std::min(kAtOnce, to.size()));
    const std::span words = std::span(scratch).first(folded.size() * divisor_ + 1);
    for (size_t i = 0; i < words.size(); ++i) words[i] = from[first * divisor_ + i];
    OrNeighbours(words, divisor_);
    const uint64_t* word = words.data();
    for (uint64_t& bits : folded) {
      bits = 0;
      unsigned filled = 0;
      for (const Compression& compression : of_word_) {
        bits |= compress(*word++, compression) << filled;
        filled += compression.bits;
      }
    }
  }
}

void BitFold::ManyToOne(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const {
  uint64_t bit = first * kFoldWordBits * divisor_;
  for (uint64_t& folded : to) {
    folded = 0;
    for (unsigned i = 0; i < kFoldWordBits; ++i, bit += divisor_) {
      if (AnyOf(from, bit, bit + divisor_)) folded |= uint64_t{1} << i;
    }
  }
}

void LineFold::operator()(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const {
  constexpr uint64_t kLineWords = kLineBytes / sizeof(uint64_t);
  std::ranges::fill(to, uint64_t{0});
  uint64_t at = first * divisor_;
  for (size_t line = 0; line < to.size(); line += kLineWords) {
    for (uint64_t i = 0; i < divisor_; ++i, at += kLineWords) {
      for (uint64_t word = 0; word < kLineWords; ++word) to[line + word] |= from[at + word];
    }
  }
}

}  // namespace bitsieve::core
