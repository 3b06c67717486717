// window_codec.h: how a window is divided into generations, and the self-describing header of its image;
// docs/formats/filter.md has the bytes. Everything decoded is hostile until Decode has checked it. Thread-safe: free
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/families/bloom/sub_filter.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

inline constexpr uint32_t kGenerations = 3;      // G: a window is divided into this many
inline constexpr uint32_t kMaxGenerations = 16;  // of any window, also of one written by a later version

// Persisted, so that later versions may divide otherwise.
struct WindowShape {
  uint32_t generations;       // G; of them, and the current one, a window always has memory
  uint32_t max_generations;   // with those that a burst needs; G + 1 for a window of items
  SubFilterShape sub_filter;  // of each generation
};
WindowShape WindowShapeFor(const FilterParams& params);

struct GenerationRecord {
  uint64_t items;
  uint64_t first_ms;  // when its first and its last item were seen; 0 in a window of items
  uint64_t last_ms;
};

struct WindowHeader {
  FilterParams params;
  WindowShape shape;
  std::vector<GenerationRecord> generations;  // oldest first; the last one is the current one

  ImageSummary Summary() const;
};

std::string EncodeWindowHeader(const WindowHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<WindowHeader> DecodeWindowHeader(std::string_view fields);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type window.
Result<std::unique_ptr<FilterDecoder>> OpenWindow(std::string_view fields, MemoryBudget& budget, const Clock& clock);

}  // namespace bitsieve::core
