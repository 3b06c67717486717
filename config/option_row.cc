#include "config/option_row.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/join.h"
#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::config {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
// Clang 16 does not deduce the arguments of an aggregate by itself.
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Every byte of `text` is part of the number, or there is none.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct SizeUnit {
  std::string_view name;
  uint64_t bytes;
};
// Redis' units. Printing uses the powers of 1024 only, the largest first.
constexpr std::array kPrintedUnits = {SizeUnit{"gb", 1ULL << 30}, SizeUnit{"mb", 1ULL << 20},
                                      SizeUnit{"kb", 1ULL << 10}};
constexpr std::array kFurtherUnits = {SizeUnit{"g", 1'000'000'000}, SizeUnit{"m", 1'000'000}, SizeUnit{"k", 1'000},
                                      SizeUnit{"b", 1}, SizeUnit{"", 1}};

uint64_t BytesOfUnit(std::string_view name) {
  for (const SizeUnit& unit : kPrintedUnits) {
    if (unit.name == name) return unit.bytes;
  }
  for (const SizeUnit& unit : kFurtherUnits) {
    if (unit.name == name) return unit.bytes;
  }
  return 0;
}

constexpr std::string_view kAutomaticText = "auto";
constexpr std::string_view kOffText = "off";

std::string ReadableBytes(uint64_t bytes) {
  for (const SizeUnit& unit : kPrintedUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

// A value that the domain takes, before it is put where the member points to.
using Value = std::variant<uint64_t, int64_t, double, std::string>;

template <class Number>
std::optional<Value> Within(std::optional<Number> value, Number min, Number max) {
  if (!value || !(min <= *value && *value <= max)) return std::nullopt;
  return Value(*value);
}

std::optional<double> Capped(std::optional<double> value, const Real& domain) {
  if (value && domain.max < *value && *value < domain.capped_below) return domain.max;
  return value;
}

std::optional<Value> ParseValue(const Domain& domain, std::string_view text) {
  using Parsed = std::optional<Value>;
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  return std::visit(
      Overloaded{
          [&](const WholeNumber& d) -> Parsed {
            if (d.or_off && text == kOffText) return Value(d.max + 1);
            return Within(ParseNumber<uint64_t>(text), d.min, d.max);
          },
          [&](const SignedNumber& d) -> Parsed { return Within(ParseNumber<int64_t>(text), d.min, d.max); },
          [&](const ByteSize& d) -> Parsed {
            if (d.automatic && text == kAutomaticText) return Value(kAutomatic);
            const std::optional<uint64_t> bytes = ParseByteSize(text);
            return d.or_zero && bytes == 0U ? Parsed(uint64_t{0}) : Within(bytes, d.min, d.max);
          },
          [&](const Real& d) -> Parsed { return Within(Capped(ParseNumber<double>(text), d), d.min, d.max); },
          [&](const OneOf& d) -> Parsed {
            return std::ranges::count(d.words, text) != 0 ? Parsed(std::string(text)) : std::nullopt;
          },
          [&](const Text& d) -> Parsed {
            std::string copy(text);
            return d.accepts(copy) ? Parsed(std::move(copy)) : std::nullopt;
          },
      },
      domain);
}

std::string WholeNumbers(std::string_view unit, const std::string& min, const std::string& max) {
  const std::string of_unit = unit.empty() ? "" : " of " + std::string(unit);
  return "a whole number" + of_unit + " from " + min + " to " + max;
}

// Returns the number as people write it: "1e-9", not "1e-09".
std::string RateText(double number) {
  std::string text = core::ShortestText(number);
  if (const size_t at = text.find("e-0"); at != std::string::npos) text.erase(at + 2, 1);
  return text;
}

}  // namespace

std::optional<uint64_t> ParseByteSize(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = core::LowerCase(text.substr(digits));
  const auto count = ParseNumber<uint64_t>(text.substr(0, digits));
  const uint64_t bytes = BytesOfUnit(unit);
  if (!count || bytes == 0 || *count > UINT64_MAX / bytes) return std::nullopt;
  return *count * bytes;
}

std::string VariableName(const OptionRow& row) {
  std::string name = "BITSIEVE_";
  for (const char c : row.name) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string AllowedValues(const OptionRow& row) {
  return std::visit(
      Overloaded{
          [&](const WholeNumber& d) {
            return (d.or_off ? "off, or " : "") + WholeNumbers(row.unit, std::to_string(d.min), std::to_string(d.max));
          },
          [&](const SignedNumber& d) { return WholeNumbers(row.unit, std::to_string(d.min), std::to_string(d.max)); },
          [](const ByteSize& d) {
            const char* const words = d.automatic && d.or_zero ? "0, auto, or " : d.automatic ? "auto, or " : "";
            return std::string(words) + "a size in bytes, kb, mb or gb from " + ReadableBytes(d.min) + " to " +
                   ReadableBytes(d.max);
          },
          [](const Real& d) {
            const std::string range = "a number from " + RateText(d.min) + " to " + core::ShortestText(d.max);
            if (d.capped_below == 0) return range;
            return range + ", or a larger one below " + core::ShortestText(d.capped_below) + ", which is taken as " +
                   core::ShortestText(d.max);
          },
          [](const OneOf& d) { return "one of " + core::Join(d.words, ", "); },
          [](const Text& d) { return std::string(d.what); },
      },
      row.domain);
}

core::Status SetOption(const OptionRow& row, std::string_view text, Options& options) {
  std::optional<Value> value = ParseValue(row.domain, text);
  if (row.secret && text == kHiddenText) {
    return core::Fail(core::ErrorCode::kInvalidArgument,
                      std::string(row.name) + " is \"***\", which stands for a hidden value; give the value itself");
  }
  if (!value) {
    const std::string found = row.secret ? "" : ", not " + core::Quoted(text);
    return core::Fail(core::ErrorCode::kInvalidArgument,
                      std::string(row.name) + " must be " + AllowedValues(row) + found);
  }
  std::visit(
      [&](auto member) {
        using T = std::remove_reference_t<decltype(options.*member)>;
        if constexpr (std::is_unsigned_v<T>) {
          options.*member = static_cast<T>(std::get<uint64_t>(*value));
        } else {
          options.*member = std::get<T>(std::move(*value));
        }
      },
      row.member);
  return {};
}

std::string StoredText(const OptionRow& row, const Options& options) {
  return std::visit(
      [&](auto member) -> std::string {
        using T = std::remove_cvref_t<decltype(options.*member)>;
        if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
          return std::to_string(options.*member);
        } else if constexpr (std::is_integral_v<T>) {
          if (uint64_t{options.*member} == kAutomatic) return std::string(kAutomaticText);
          const auto* const whole = std::get_if<WholeNumber>(&row.domain);
          if (whole != nullptr && uint64_t{options.*member} > whole->max) return std::string(kOffText);
          return std::to_string(options.*member);
        } else if constexpr (std::is_floating_point_v<T>) {
          return core::ShortestText(options.*member);
        } else {
          return options.*member;
        }
      },
      row.member);
}

std::string OptionText(const OptionRow& row, const Options& options) {
  std::string text = StoredText(row, options);
  return row.secret && !text.empty() ? std::string(kHiddenText) : text;
}

std::string OptionReadableText(const OptionRow& row, const Options& options) {
  if (!std::holds_alternative<ByteSize>(row.domain)) return OptionText(row, options);
  const uint64_t bytes = options.*std::get<uint64_t Options::*>(row.member);
  return bytes == kAutomatic ? std::string(kAutomaticText) : ReadableBytes(bytes);
}

}  // namespace bitsieve::config
