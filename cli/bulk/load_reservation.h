// load_reservation.h: what bitsieve load --reserve asks for, and the items of the files counted for it. Confined to the
// main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bulk/bulk_flags.h"
#include "cli/bulk/load_progress.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// "0.001,5000000", "0.001,auto" or "auto".
struct Reservation {
  std::string error_rate = "0.01";
  std::optional<uint64_t> items;  // nothing: ItemCounter
};

core::Outcome<Reservation> ParseReservation(const std::string& text);

class ItemCounter {
 public:
  // `type` as --type has it: repeated items need room only in filters that keep count of them.
  ItemCounter(const BulkFlags& input, const std::string& type, LoadProgress& progress)
      : input_(input), type_(type), progress_(progress) {}

  // Items that a filter for these files needs room for. Nothing if `is_interrupted` became true meanwhile.
  core::Outcome<std::optional<uint64_t>> Count(const std::vector<std::string>& files,
                                               const std::function<bool()>& is_interrupted);

 private:
  const BulkFlags& input_;
  const std::string& type_;
  LoadProgress& progress_;
};

}  // namespace bitsieve::cli
