#include "cli/dedup/record_ends.h"

#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace bitsieve::cli {
namespace {

// Looks for bytes equal to `end` one by one, with as few calls as there are records.
RecordEnds::Found FindByCalls(std::string_view text, size_t from, char end, std::span<uint32_t> ends, size_t count) {
  while (count < ends.size()) {
    const void* const found = std::memchr(text.data() + from, end, text.size() - from);
    if (found == nullptr) return {count, text.size()};
    from = static_cast<size_t>(static_cast<const char*>(found) - text.data()) + 1;
    ends[count++] = static_cast<uint32_t>(from);
  }
  return {count, from};
}

#ifdef __SSE2__
constexpr size_t kStepBytes = 64;

// Returns a bit for each of 64 bytes: whether it is `end`.
uint64_t EndsIn(const char* bytes, __m128i end) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < kStepBytes / sizeof end; ++i) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, end)));
    bits |= uint64_t{mask} << (i * sizeof end);
  }
  return bits;
}

// Records of some ten bytes, for which a call each would cost more than all the rest of the scan.
RecordEnds::Found FindBytes(std::string_view text, size_t from, char end, std::span<uint32_t> ends) {
  const __m128i ends_of_all = _mm_set1_epi8(end);
  size_t count = 0;
  for (; from + kStepBytes <= text.size() && count + kStepBytes <= ends.size(); from += kStepBytes) {
    for (uint64_t bits = EndsIn(text.data() + from, ends_of_all); bits != 0; bits &= bits - 1) {
      ends[count++] = static_cast<uint32_t>(from + static_cast<size_t>(std::countr_zero(bits)) + 1);
    }
  }
  return FindByCalls(text, from, end, ends, count);
}
#else
RecordEnds::Found FindBytes(std::string_view text, size_t from, char end, std::span<uint32_t> ends) {
  return FindByCalls(text, from, end, ends, 0);
}
#endif

}  // namespace

RecordEnds::Found RecordEnds::Find(std::string_view text, size_t record_begin, size_t from, std::span<uint32_t> ends) {
  if (format_.kind == RecordFormat::kBinary) return FindFixed(text, record_begin, ends);
  if (format_.kind == RecordFormat::kCsv) return FindRows(text, from, ends);
  return FindBytes(text, from, format_.end(), ends);
}

// A line end within quotes ends nothing, as RecordReader has it.
RecordEnds::Found RecordEnds::FindRows(std::string_view text, size_t from, std::span<uint32_t> ends) {
  size_t count = 0;
  for (; from < text.size() && count < ends.size(); ++from) {
    if (text[from] == '"') is_quoted_ = !is_quoted_;
    if (text[from] == '\n' && !is_quoted_) ends[count++] = static_cast<uint32_t>(from + 1);
  }
  return {count, from};
}

RecordEnds::Found RecordEnds::FindFixed(std::string_view text, size_t record_begin, std::span<uint32_t> ends) const {
  size_t count = 0;
  for (; text.size() - record_begin >= format_.record_bytes && count < ends.size(); ++count) {
    record_begin += format_.record_bytes;
    ends[count] = static_cast<uint32_t>(record_begin);
  }
  return {count, count == ends.size() ? record_begin : text.size()};
}

}  // namespace bitsieve::cli
