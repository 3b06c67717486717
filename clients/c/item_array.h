// item_array.h: the items of a bitsieve_array as views, a batch at a time: no item is copied, and nothing is allocated.
//
// Threads: thread-compatible. The memory that the array names must not change during a call.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "clients/c/bitsieve.h"
#include "clients/cpp/filter.h"

namespace bitsieve::clients {

/// Items that are passed on together.
inline constexpr size_t kArrayBatch = 64;

/// The items of a batch that are not null, and where each is in the batch.
class ItemBatch {
 public:
  /// Reads the items from `first` to `first + count`, counted within the array; count is at most kArrayBatch.
  /// @return kInvalidArgument if an offset is negative or decreases, or a view is outside its buffer.
  Status Read(const bitsieve_array& array, size_t first, size_t count);

  std::span<const std::string_view> items() const { return std::span(items_).first(size_); }
  /// Returns the place of each of items() in the batch.
  std::span<const uint8_t> places() const { return std::span(places_).first(size_); }

 private:
  template <class ItemAt>
  void Gather(const bitsieve_array& array, size_t first, size_t count, const ItemAt& item_at);
  template <class Offset>
  Status GatherByOffsets(const bitsieve_array& array, size_t first, size_t count);
  Status GatherByViews(const bitsieve_array& array, size_t first, size_t count);

  std::array<std::string_view, kArrayBatch> items_;
  std::array<uint8_t, kArrayBatch> places_;
  size_t size_ = 0;
};

/// Checks the fields of the array against each other.
/// @return kInvalidArgument, with a message that names what is wrong.
Status CheckArray(const bitsieve_array& array);

/// Calls use(items, answers) for the items that are not null, a batch at a time, until it fails. `all` receives the
/// answers, 0 for each null; it has array.count elements, which are 0.
template <class Use>
Status ForBatches(const bitsieve_array& array, uint8_t* all, const Use& use) {
  ItemBatch batch;
  for (size_t first = 0; first < array.count; first += kArrayBatch) {
    if (Status status = batch.Read(array, first, std::min(kArrayBatch, array.count - first)); !status) return status;
    const std::span<const uint8_t> places = batch.places();
    std::array<uint8_t, kArrayBatch> answers{};
    const Status status = use(batch.items(), std::span(answers).first(places.size()));
    for (size_t i = 0; i < places.size(); ++i) all[first + places[i]] = answers[i];
    if (!status) return status;
  }
  return {};
}

}  // namespace bitsieve::clients
