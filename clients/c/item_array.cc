#include "clients/c/item_array.h"

#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace bitsieve::clients {
namespace {

Status Refuse(const std::string& what) { return core::Fail(ErrorCode::kInvalidArgument, what); }

bool HasOffsets(const bitsieve_array& array) {
  return array.layout == BITSIEVE_OFFSETS_32 || array.layout == BITSIEVE_OFFSETS_64;
}

bool IsValid(const bitsieve_array& array, size_t index) {
  return array.validity == nullptr || ((array.validity[index / 8] >> (index % 8)) & 1) != 0;
}

// Offsets may lie at any address.
template <class Offset>
Offset OffsetAt(const bitsieve_array& array, size_t index) {
  Offset offset;
  std::memcpy(&offset, static_cast<const char*>(array.offsets) + index * sizeof offset, sizeof offset);
  return offset;
}

// A view of Arrow. An item of up to 12 bytes is in the view, after its length; another one is in a buffer.
struct ItemView {
  static constexpr int32_t kMaxInside = 12;
  int32_t length;
  int32_t prefix;
  int32_t buffer;
  int32_t offset;
};
static_assert(sizeof(ItemView) == 16);

// Returns nothing if the view is outside its buffer.
std::optional<std::string_view> ItemInView(const bitsieve_array& array, size_t index) {
  const char* const place = static_cast<const char*>(array.data) + index * sizeof(ItemView);
  ItemView view;
  std::memcpy(&view, place, sizeof view);
  if (view.length < 0) return std::nullopt;
  const auto length = static_cast<size_t>(view.length);
  if (view.length <= ItemView::kMaxInside) return std::string_view(place + sizeof view.length, length);
  if (view.offset < 0 || view.buffer < 0 || static_cast<size_t>(view.buffer) >= array.buffer_count) return std::nullopt;
  const auto end = static_cast<int64_t>(view.offset) + view.length;
  if (array.buffers[view.buffer] == nullptr || end > array.buffer_sizes[view.buffer]) return std::nullopt;
  return std::string_view(static_cast<const char*>(array.buffers[view.buffer]) + view.offset, length);
}

std::string_view WithoutPadding(std::string_view item) { return item.substr(0, item.find_last_not_of('\0') + 1); }

}  // namespace

Status CheckArray(const bitsieve_array& array) {
  if (array.size < sizeof(bitsieve_array)) return Refuse("the array's size is not sizeof(bitsieve_array)");
  if (array.layout < BITSIEVE_FIXED_WIDTH || array.layout > BITSIEVE_VIEWS) {
    return Refuse("the array's layout " + std::to_string(array.layout) + " is not between 0 and 4");
  }
  if (array.count == 0) return {};
  if (array.first > std::numeric_limits<size_t>::max() - array.count) {
    return Refuse("the array's first item and count exceed the range of size_t");
  }
  if (HasOffsets(array) && array.offsets == nullptr) return Refuse("the array's offsets are NULL");
  const bool may_be_empty = HasOffsets(array) || (array.layout != BITSIEVE_VIEWS && array.width == 0);
  if (array.data == nullptr && !may_be_empty) return Refuse("the array's data is NULL");
  if (array.buffer_count != 0 && (array.buffers == nullptr || array.buffer_sizes == nullptr)) {
    return Refuse("the array's buffers or their sizes are NULL, and their count is not 0");
  }
  return {};
}

template <class ItemAt>
void ItemBatch::Gather(const bitsieve_array& array, size_t first, size_t count, const ItemAt& item_at) {
  size_ = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t index = array.first + first + i;
    if (!IsValid(array, index)) continue;
    items_[size_] = item_at(index);
    places_[size_++] = static_cast<uint8_t>(i);
  }
}

template <class Offset>
Status ItemBatch::GatherByOffsets(const bitsieve_array& array, size_t first, size_t count) {
  const auto* const data = static_cast<const char*>(array.data);
  Offset last = 0;
  for (size_t i = 0; i <= count; ++i) {
    const auto offset = OffsetAt<Offset>(array, array.first + first + i);
    if (offset < last) {
      return Refuse("the array's offset " + std::to_string(array.first + first + i) + " is " + std::to_string(offset) +
                    ": offsets must not be negative, nor decrease");
    }
    last = offset;
  }
  if (data == nullptr && last != OffsetAt<Offset>(array, array.first + first))
    return Refuse("the array's data is NULL");
  Gather(array, first, count, [&](size_t index) {
    const auto begin = OffsetAt<Offset>(array, index);
    return std::string_view(data + begin, static_cast<size_t>(OffsetAt<Offset>(array, index + 1) - begin));
  });
  return {};
}

Status ItemBatch::GatherByViews(const bitsieve_array& array, size_t first, size_t count) {
  std::optional<size_t> damaged;
  Gather(array, first, count, [&](size_t index) {
    const std::optional<std::string_view> item = ItemInView(array, index);
    if (!item && !damaged) damaged = index;
    return item.value_or(std::string_view());
  });
  return damaged ? Refuse("the array's view " + std::to_string(*damaged) + " is outside its buffer") : Status();
}

Status ItemBatch::Read(const bitsieve_array& array, size_t first, size_t count) {
  if (array.layout == BITSIEVE_OFFSETS_32) return GatherByOffsets<int32_t>(array, first, count);
  if (array.layout == BITSIEVE_OFFSETS_64) return GatherByOffsets<int64_t>(array, first, count);
  if (array.layout == BITSIEVE_VIEWS) return GatherByViews(array, first, count);
  const auto item_at = [&](size_t index) {
    return std::string_view(static_cast<const char*>(array.data) + index * array.width, array.width);
  };
  if (array.layout == BITSIEVE_PADDED) {
    Gather(array, first, count, [&](size_t index) { return WithoutPadding(item_at(index)); });
  } else {
    Gather(array, first, count, item_at);
  }
  return {};
}

}  // namespace bitsieve::clients
