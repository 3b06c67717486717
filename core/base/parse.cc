#include "core/base/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace bitsieve::core {

namespace {

// `how`, if it is given, is the base.
template <class Number, class... How>
std::optional<Number> ParseWhole(std::string_view text, How... how) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, how...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "007" and "-0" are no numbers to Redis: each number has one spelling.
bool HasOneSpelling(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  return !digits.starts_with('0') || (digits.size() == 1 && !negative);
}

// Returns the text that std::to_chars makes of the number.
std::string DoubleText(double number, auto... format) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, format...).ptr};
}

char Lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte; }

}  // namespace

std::optional<int64_t> ParseInteger(std::string_view text) {
  return HasOneSpelling(text) ? ParseWhole<int64_t>(text) : std::nullopt;
}

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  return HasOneSpelling(text) ? ParseWhole<uint64_t>(text) : std::nullopt;
}

std::optional<double> ParseDouble(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const std::optional<double> number = ParseWhole<double>(text);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

std::string ShortestText(double number) { return DoubleText(number); }

std::string RoundedText(double number, int digits) { return DoubleText(number, std::chars_format::general, digits); }

std::optional<uint64_t> ParseHex(std::string_view digits) { return ParseWhole<uint64_t>(digits, 16); }

std::optional<std::string> PercentDecoded(std::string_view text) {
  constexpr size_t kDigits = 2;
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, kDigits);
    const auto byte = digits.size() == kDigits ? ParseHex(digits) : std::nullopt;
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    i += kDigits;
  }
  return bytes;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

}  // namespace bitsieve::core
