#include "core/families/expiring/expiring_type.h"

#include <array>
#include <string>

#include "core/base/duration.h"
#include "core/base/parse.h"
#include "core/families/expiring/expiring_codec.h"
#include "core/families/expiring/expiring_filter.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

namespace {

constexpr std::array kExpiringParams{kTtlMs, kEpochBits, kRenew};

Status ReadTtl(std::string_view text, FilterParams& params) {
  const std::optional<uint64_t> ms = ParseDuration(text, kMaxTtlMs);
  if (!ms || *ms < kMinTtlMs) {
    return OutOfRange(
        "bad time to live: it must be a duration in the range [100ms, 3650d] in ms, s, m, h or d, such "
        "as 24h");
  }
  SetTtlMs(params, *ms);
  return {};
}

Status ReadRenew(std::string_view text, FilterParams& params) {
  const bool yes = EqualsIgnoringCase(text, "yes");
  if (!yes && !EqualsIgnoringCase(text, "no")) return OutOfRange("bad renew: it must be yes or no");
  SetRenewsItems(params, yes);
  return {};
}

std::string RenewText(const FilterParams& params) { return RenewsItems(params) ? "yes" : "no"; }

constexpr std::array kExpiringOptions{
    TypeOption{.word = "TTL",
               .value = "time",
               .noun = "time to live",
               .notes = "It must be given: a duration such as 500ms, 90s, 30m, 24h or 7d, after which items expire "
                        "unless they were added with a shorter time.",
               .read = ReadTtl,
               .text = [](const FilterParams& params) { return DurationText(TtlMsOf(params)); }},
    TypeOption{.word = "EPOCHBITS",
               .value = "bits",
               .noun = kEpochBits.name,
               .notes = "An item is kept for at most a fourteenth of the time to live too long with 4, a 250th with 8.",
               .param = &kEpochBits},
    TypeOption{.word = "RENEW",
               .value = "<yes | no>",
               .noun = "renew",
               .notes = "With yes, adding an item that is there lets it expire later.",
               .read = ReadRenew,
               .text = RenewText,
               .default_text = "yes"},
};

std::string ItemsByEpoch(const FilterInfo& info) {
  std::string text;
  for (const uint64_t items : info.expiry.items_by_epoch) {
    if (!text.empty()) text += ' ';
    text += std::to_string(items);
  }
  return text;
}

constexpr std::array kExpiringFields{
    InfoField{.selector = "TTL",
              .label = "Time to live",
              .meaning = "the time after which items expire",
              .value = [](const Filter& filter,
                          const FilterInfo&) { return InfoValue(DurationText(TtlMsOf(filter.params()))); }},
    InfoField{.selector = "EPOCHBITS",
              .label = "Epoch bits",
              .meaning = "the bits per item for its time",
              .param = &kEpochBits},
    InfoField{.selector = "RENEW",
              .label = "Renew",
              .meaning = "whether adding an item that is there lets it expire later",
              .value = [](const Filter& filter, const FilterInfo&) { return InfoValue(RenewText(filter.params())); }},
    InfoField{.selector = "EPOCHITEMS",
              .label = "Items per epoch",
              .meaning = "the numbers of live items by the epoch in which they expire, the current one first",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(ItemsByEpoch(info)); }},
    InfoField{.selector = "NEXTEXPIRY",
              .label = "Next expiry in milliseconds",
              .meaning = "the milliseconds until the first live items expire, 0 if there are none",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(info.expiry.next_left_ms); }},
    InfoField{.selector = "EPOCHEND",
              .label = "Epoch ends in milliseconds",
              .meaning = "the milliseconds until the current epoch ends",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(info.expiry.epoch_left_ms); }},
    kFingerprintBitsField,
};

Status SettleExpiring(const StatedOptions&, FilterParams& params) {
  if (TtlMsOf(params) != 0) return {};
  return OutOfRange("an expiring filter needs TTL, a duration such as 24h");
}

Status ValidateExpiring(const FilterParams& params) {
  if (Status status = ValidateCommon(params); !status) return status;
  if (TtlMsOf(params) != 0) return {};
  return OutOfRange("an expiring filter needs a time to live");
}

}  // namespace

constexpr FilterTypeRow kExpiringRow{
    .type = kExpiringType,
    .name = "expiring",
    .summary = "each item expires after a time of its own, and can be removed before",
    .can = {.remove = true, .expire = true},
    .own_params = kExpiringParams,
    .options = kExpiringOptions,
    .info_fields = kExpiringFields,
    .settle_options = SettleExpiring,
    .validate = ValidateExpiring,
    .make = ExpiringFilter::Make,
    .open = OpenExpiring,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeExpiringHeader(fields)); },
    .forecast = ExpiringFilter::ForecastOf,
};

}  // namespace bitsieve::core
