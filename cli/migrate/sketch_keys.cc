#include "cli/migrate/sketch_keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/client/units.h"
#include "core/base/quote.h"

namespace bitsieve::cli {

std::string_view SketchNoun(std::string_view type) {
  using TypeAndNoun = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<TypeAndNoun, 3> kNouns = {
      {{"CMSk-TYPE", "Count-Min Sketch"}, {"TopK-TYPE", "Top-K"}, {"TDIS-TYPE", "t-digest"}}};
  const auto* const found = std::ranges::find(kNouns, type, &TypeAndNoun::first);
  return found == kNouns.end() ? std::string_view() : found->second;
}

void FoundSketches::Add(std::string_view type, std::string_view name) {
  auto place = by_type_.find(type);
  if (place == by_type_.end()) place = by_type_.emplace(type, SketchKeys()).first;
  SketchKeys& keys = place->second;
  ++keys.count;
  if (keys.names.size() < kMaxNames) keys.names.emplace_back(name);
}

uint64_t FoundSketches::count() const {
  uint64_t count = 0;
  for (const auto& [type, keys] : by_type_) count += keys.count;
  return count;
}

std::vector<std::string> FoundSketches::Lines() const {
  std::vector<std::string> lines;
  for (const auto& [type, keys] : by_type_) {
    std::string line = CountText(keys.count) + " " + std::string(SketchNoun(type)) + ":";
    for (const std::string& name : keys.names) line += (line.ends_with(':') ? " " : ", ") + core::PrintableName(name);
    if (keys.count > keys.names.size()) line += " and " + CountText(keys.count - keys.names.size()) + " more";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace bitsieve::cli
