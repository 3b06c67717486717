// units.h: numbers of items, rates, spans of time and memory as people write and read them. Thread-safe: pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::cli {

// "1000000", "1e9", "2.5e6", "50k", "50m", "2g": a whole number from 1 to `most`.
std::optional<uint64_t> ParseCount(std::string_view text, uint64_t most);
// "0.001" or "0.1%", in the range of core::kErrorRates.
std::optional<double> ParseErrorRate(std::string_view text);
// "5000/s", "300k/m", "1e6/h", "2m/d": items per second.
std::optional<double> ParseItemRate(std::string_view text);

// "1,000,000"
std::string CountText(uint64_t count);
// "1.86 GB", in powers of 1024; whole bytes below one of them.
std::string MemoryText(uint64_t bytes);
// "1.5 GB", in powers of 1000, as transfers and disks are measured.
std::string SizeText(uint64_t bytes);
// To three digits: "0.0998%".
std::string PercentText(double rate);

}  // namespace bitsieve::cli
