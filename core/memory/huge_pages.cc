#include "core/memory/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "core/base/mutex.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace bitsieve::core {
namespace {

constexpr uint64_t kSmallBytes = 4096;
constexpr size_t kSmallPages = HugePages::kBytes / kSmallBytes;
constexpr size_t kInUse = kSmallPages / 8;  // fewer are not worth the rest of a huge page

struct Known {
  Mutex mutex;
  // For each memory, which of its huge pages were made, or cannot be.
  std::map<std::byte*, std::vector<bool>> memories BITSIEVE_GUARDED_BY(mutex);
  int keepers BITSIEVE_GUARDED_BY(mutex) = 0;
};

Known& TheKnown() {
  static auto& known = *new Known;  // never freed: memory may die after it otherwise would have
  return known;
}

// Whether the system gives huge pages to all processes that do not decline.
bool SystemAlwaysGivesThem() {
  static const bool always = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string text;
    std::getline(file, text);
    return text.find("[always]") != std::string::npos;
  }();
  return always;
}

bool IsInUse(std::byte* page) {
  std::array<unsigned char, kSmallPages> resident;
  if (mincore(page, HugePages::kBytes, resident.data()) != 0) return false;
  const auto used = std::count_if(resident.begin(), resident.end(), [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<size_t>(used) >= kInUse;
}

// All of this is advice: what the system refuses stays as it is.
void MakeHuge(std::byte* page) {
  if (SystemAlwaysGivesThem()) madvise(page, HugePages::kBytes, MADV_HUGEPAGE);
  if (madvise(page, HugePages::kBytes, MADV_COLLAPSE) != 0) madvise(page, HugePages::kBytes, MADV_HUGEPAGE);
}

bool AddKnown(std::byte* data, uint64_t pages) {
  Known& known = TheKnown();
  const LockGuard lock(known.mutex);
  if (known.keepers == 0) return false;
  try {
    known.memories.insert_or_assign(data, std::vector<bool>(pages));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void HugePages::Add(std::byte* data, uint64_t bytes) {
  const bool begins_small = AddKnown(data, bytes / kBytes);
  if (begins_small && !SystemAlwaysGivesThem()) return;
  madvise(data, bytes, begins_small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void HugePages::Remove(std::byte* data) {
  Known& known = TheKnown();
  const LockGuard lock(known.mutex);
  known.memories.erase(data);
}

void HugePages::BeginKeeping() {
  Known& known = TheKnown();
  const LockGuard lock(known.mutex);
  ++known.keepers;
}

void HugePages::EndKeeping() {
  Known& known = TheKnown();
  const LockGuard lock(known.mutex);
  --known.keepers;
}

uint64_t HugePages::MakeAll(const std::function<bool()>& pause) {
  Known& known = TheKnown();
  uint64_t made = 0;
  std::byte* data = nullptr;
  // The lock is released after each page. Memory may then come and go, also at the same place.
  for (size_t page = 0;; ++page) {
    {
      const LockGuard lock(known.mutex);
      auto at = known.memories.lower_bound(data);
      if (at != known.memories.end() && at->first == data && page >= at->second.size()) ++at;
      if (at == known.memories.end()) return made;
      if (at->first != data) data = at->first, page = 0;
      if (page >= at->second.size() || at->second[page] || !IsInUse(data + page * kBytes)) continue;
      at->second[page] = true;
      MakeHuge(data + page * kBytes);
    }
    ++made;
    if (!pause()) return made;
  }
}

}  // namespace bitsieve::core
