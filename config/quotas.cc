#include "config/quotas.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "config/option_row.h"

namespace bitsieve::config {
namespace {

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(count) : std::nullopt;
}

}  // namespace

std::optional<std::vector<QuotaRow>> ParseQuotas(std::string_view text) {
  std::istringstream in{std::string(text)};
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  if (words.size() % 3 != 0 || words.size() / 3 > kMaxQuotas) return std::nullopt;
  std::vector<QuotaRow> rows;
  for (size_t i = 0; i < words.size(); i += 3) {
    const std::optional<uint64_t> filters = ParseCount(words[i + 1]);
    const std::optional<uint64_t> bytes = ParseByteSize(words[i + 2]);
    if (!filters || !bytes || std::ranges::find(rows, words[i], &QuotaRow::pattern) != rows.end()) return std::nullopt;
    rows.push_back({words[i], *filters, *bytes});
  }
  return rows;
}

bool AreQuotas(const std::string& text) { return ParseQuotas(text).has_value(); }

}  // namespace bitsieve::config
