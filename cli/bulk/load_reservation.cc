#include "cli/bulk/load_reservation.h"

#include <memory>

#include "cli/plan/distinct_counter.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/filter/filter_type.h"

namespace bitsieve::cli {
namespace {

constexpr uint64_t kBetweenLooks = 256;  // records between two looks at the clock

}  // namespace

core::Outcome<Reservation> ParseReservation(const std::string& text) {
  const auto wrong = [&] {
    return tl::unexpected("--reserve is ERROR,ITEMS such as 0.001,5000000, ERROR,auto, or auto, not " +
                          core::Quoted(text));
  };
  Reservation reservation;
  if (text == "auto") return reservation;
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return wrong();
  reservation.error_rate = text.substr(0, comma);
  const auto rate = core::ParseDouble(reservation.error_rate);
  if (!rate || *rate <= 0 || *rate >= 1) return wrong();
  if (text.substr(comma + 1) == "auto") return reservation;
  const auto items = core::ParseDouble(text.substr(comma + 1));
  if (!items || *items < 1 || *items > 1e18) return wrong();
  reservation.items = static_cast<uint64_t>(*items);
  return reservation;
}

core::Outcome<std::optional<uint64_t>> ItemCounter::Count(const std::vector<std::string>& files,
                                                          const std::function<bool()>& is_interrupted) {
  const core::FilterTypeRow* const type = core::FindFilterType(type_);
  const bool keeps_repeats = type != nullptr && type->can.repeats;
  LoadCounts counts;
  uint64_t bytes_before = 0;
  const auto different = std::make_unique<DistinctCounter>();
  progress_.Begin(LoadProgress::Phase::kCounting);
  for (const std::string& file : files) {
    auto input = input_.Open(file, is_interrupted);
    if (is_interrupted()) return std::nullopt;
    if (!input) return tl::unexpected(input.error());
    RecordReader reader([&input] { return input->Read(); }, input_.Format());
    while (true) {
      const auto record = reader.Next();
      if (is_interrupted()) return std::nullopt;
      if (!record && !reader.is_bad_record()) return tl::unexpected(file + ": " + record.error());
      if (record && !*record) break;
      if (!record) continue;
      ++counts.read;
      if (!keeps_repeats) different->Add((*record)->item);
      if (counts.read % kBetweenLooks == 0) progress_.Show(counts, bytes_before + input->file_position());
    }
    bytes_before += input->file_bytes();
  }
  return keeps_repeats ? counts.read : different->UpperEstimate();
}

}  // namespace bitsieve::cli
