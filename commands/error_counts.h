// error_counts.h: error replies by their code, which is their first word: ERR, WRONGTYPE, OOM. Codes are few, since
// error texts are ours. Note and Add are for one writer; ForEach and Reset may be called from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitsieve::commands {

class ErrorCounts {
 public:
  void Count(std::string_view text) { Add(text.substr(0, text.find(' ')), 1); }

  void Add(std::string_view code, uint64_t count) {
    code = code.substr(0, kMaxCodeBytes);
    const size_t size = size_.load(std::memory_order_relaxed);
    size_t i = 0;
    while (i < size && entries_[i].code() != code) ++i;
    if (i == kMaxCodes) return;
    Entry& entry = entries_[i];
    if (i == size) std::ranges::copy(code, entry.text.begin());
    entry.count.store(entry.count.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    if (i == size) size_.store(size + 1, std::memory_order_release);  // its text is there for readers
  }

  // Calls visit(code, count) for each code that was ever counted; counts may be 0 after Reset().
  template <class Visit>
  void ForEach(Visit&& visit) const {
    const size_t size = size_.load(std::memory_order_acquire);
    for (size_t i = 0; i < size; ++i) visit(entries_[i].code(), entries_[i].count.load(std::memory_order_relaxed));
  }

  // From any thread; an increment under way may survive it.
  void Reset() {
    for (Entry& entry : entries_) entry.count.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kMaxCodes = 32;
  static constexpr size_t kMaxCodeBytes = 16;

  struct Entry {
    std::array<char, kMaxCodeBytes> text{};
    std::atomic<uint64_t> count{0};  // relaxed: reported on its own

    std::string_view code() const {
      return {text.data(), static_cast<size_t>(std::ranges::find(text, '\0') - text.begin())};
    }
  };

  std::array<Entry, kMaxCodes> entries_;
  std::atomic<size_t> size_{0};
};

}  // namespace bitsieve::commands
