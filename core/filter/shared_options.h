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
    .word = "HASH",
    .value = "<xxh3 | murmur3 | fnv1a | sip>",
    .noun = "hash",
    .notes = "Use sip if an attacker can choose the items.",
    .read = ReadHash,
    .text = [](const FilterParams& params) { return std::string(HashKindName(params.hash)); },
    .default_text = "xxh3"};
inline constexpr InfoField kHashField{.selector = "HASH",
                                      .label = "Hash",
                                      .meaning = "the hash function",
                                      .value = [](const Filter& filter, const FilterInfo&) {
                                        return InfoValue(std::string(HashKindName(filter.params().hash)));
                                      }};

// The field of the types that deny known false positives.
inline constexpr InfoField kFalsePositivesField{
    .selector = "FALSEPOSITIVES",
    .label = "Known false positives",
    .meaning = "the number of known false positives",
    .value = [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.false_positives}); }};

// The field of the types that keep fingerprints; it shows those of the newest sub-filter.
inline constexpr InfoField kFingerprintBitsField{
    .selector = "FINGERPRINTBITS",
    .label = "Fingerprint bits",
    .meaning = "the bits per fingerprint in the newest table",
    .value = [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.fingerprint_bits}); }};

}  // namespace bitsieve::core
