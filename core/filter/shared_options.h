// shared_options.h: options and fields of BF.INFO that several filter types have. Thread-safe: constants.
#pragma once

#include <string>
#include <string_view>

#include "core/filter/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

// For TypeOption::read.
Status ReadHash(std::string_view text, FilterParams& params);

// The option and the field of the types that may have any hash function.
inline constexpr TypeOption kHashOption{
    .word = "HASH", .noun = "hash", .missing = "no hash", .read = ReadHash, .text = [](const FilterParams& params) {
      return std::string(HashKindName(params.hash));
    }};
inline constexpr InfoField kHashField{"HASH", "Hash", [](const Filter& filter, const FilterInfo&) {
                                        return InfoValue(std::string(HashKindName(filter.params().hash)));
                                      }};

// The field of the types that deny known false positives.
inline constexpr InfoField kFalsePositivesField{
    "FALSEPOSITIVES", "Known false positives",
    [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.false_positives}); }};

// The field of the types that keep fingerprints; it shows those of the newest sub-filter.
inline constexpr InfoField kFingerprintBitsField{
    "FINGERPRINTBITS", "Fingerprint bits",
    [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.fingerprint_bits}); }};

}  // namespace bitsieve::core
