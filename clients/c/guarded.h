// guarded.h: what the functions of bitsieve.h have in common: no exception leaves them, errors become a status and a
// message, and NULL is refused. Thread-safe: free functions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "clients/c/bitsieve.h"
#include "clients/c/item_array.h"
#include "clients/cpp/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::clients {

inline bitsieve_status StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return BITSIEVE_INVALID_ARGUMENT;
    case ErrorCode::kOutOfMemory:
      return BITSIEVE_OUT_OF_MEMORY;
    case ErrorCode::kCorrupt:
      return BITSIEVE_CORRUPT;
    case ErrorCode::kUnsupported:
      return BITSIEVE_UNSUPPORTED;
    case ErrorCode::kIo:
      return BITSIEVE_IO;
    case ErrorCode::kFull:
      return BITSIEVE_FULL;
  }
  return BITSIEVE_INVALID_ARGUMENT;
}

inline bitsieve_status Report(bitsieve_status status, std::string_view message, bitsieve_error* error) noexcept {
  if (error != nullptr) {
    const size_t size = std::min(message.size(), sizeof error->message - 1);
    std::memcpy(error->message, message.data(), size);
    error->message[size] = '\0';
  }
  return status;
}

// Reports what the call returned or threw. No exception leaves it.
template <class Call>
bitsieve_status Guarded(bitsieve_error* error, const Call& call) noexcept {
  try {
    const Status status = call();
    return status ? Report(BITSIEVE_OK, "", error)
                  : Report(StatusOf(status.error().code), status.error().message, error);
  } catch (const std::bad_alloc&) {
    return Report(BITSIEVE_OUT_OF_MEMORY, "out of memory", error);
  } catch (const std::exception& thrown) {
    return Report(BITSIEVE_IO, thrown.what(), error);
  }
}

inline bitsieve_status RefuseNull(const char* what, bitsieve_error* error) noexcept {
  return Report(BITSIEVE_INVALID_ARGUMENT, what, error);
}

inline std::string_view ViewOf(const void* item, size_t size) { return {static_cast<const char*>(item), size}; }

// Calls use(views, answers) for the items of the array, a batch at a time, until it fails.
template <class Handle, class Use>
bitsieve_status GuardedArray(const Handle* filter, const bitsieve_array* items, uint8_t* answers, bitsieve_error* error,
                             const Use& use) noexcept {
  if (items == nullptr) return RefuseNull("the items are NULL", error);
  if (filter == nullptr) return RefuseNull("the filter is NULL", error);
  return Guarded(error, [&]() -> Status {
    if (Status status = CheckArray(*items); !status) return status;
    if (items->count != 0 && answers == nullptr) {
      return core::Fail(ErrorCode::kInvalidArgument, "the place for the answers is NULL");
    }
    std::fill_n(answers, items->count, uint8_t{0});
    return ForBatches(*items, answers, use);
  });
}

// Copies the bytes to memory that bitsieve_free_bytes frees.
inline Status GiveBytes(const Result<std::string>& given, void** bytes, size_t* size) {
  if (!given) return tl::unexpected(given.error());
  *bytes = std::malloc(given->size());
  if (*bytes == nullptr) throw std::bad_alloc();
  std::memcpy(*bytes, given->data(), given->size());
  *size = given->size();
  return {};
}

// Copies as much of `whole` to `out` as the caller's version of the structure has, and sets the rest of it to 0.
template <class Structure>
void GiveStructure(const Structure& whole, Structure* out, size_t size) {
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &whole, std::min(size, sizeof whole));
}

inline void GiveDescription(const FilterDescription& described, bitsieve_description* description, size_t size) {
  GiveStructure<bitsieve_description>({.type = core::FindFilterType(described.type)->name.data(),
                                       .error_rate = described.error_rate,
                                       .capacity = described.capacity,
                                       .items = described.items,
                                       .size_bytes = described.size_bytes,
                                       .seed = described.seed,
                                       .sub_filters = described.sub_filters,
                                       .is_mapped = described.is_mapped ? 1 : 0,
                                       .false_positives = described.false_positives},
                                      description, size);
}

}  // namespace bitsieve::clients
