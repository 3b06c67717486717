// chain.h: the sub-filters of a filter that grows: tables of any type, each of which knows its neighbours. A filter
// that does not grow is a chain of one table. An empty chain is two words.
//
// Threads: the writer appends and takes tables off; readers walk the chain at the same time, without a lock: the state
// of a table before it was appended is visible to every reader that meets it. A table lives as long as the chain,
// unless it is detached.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/use_counters.h"
#include "core/memory/memory_source.h"

namespace bitsieve::core {

template <class Table>
class Chain;

// A base of `Table`, which holds the table's place in a chain.
template <class Table>
class ChainMember {
 public:
  Table* older() const { return older_; }
  // Returns null for the newest table.
  Table* newer() const { return newer_.load(std::memory_order_acquire); }
  uint32_t index() const { return index_; }  // 0 for the oldest
  // Returns the number of items that this and all older tables are made for.
  uint64_t total_capacity() const { return total_capacity_; }
  // Returns the bytes of the budget that this and all older tables take.
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  friend class Chain<Table>;

  // Constant from the moment in which the table is appended.
  Table* older_ = nullptr;
  uint32_t index_ = 0;
  uint64_t total_capacity_ = 0;
  uint64_t total_bytes_ = 0;
  MemoryReservation overhead_;

  std::atomic<Table*> newer_{nullptr};
  UseCounters use_;  // since it became the newest
};

// Table has capacity(), items that it is made for, and size_bytes(), what it takes of the budget for its contents.
template <class Table>
class Chain {
 public:
  // Returns null while there is no table.
  Table* newest() const { return newest_.load(std::memory_order_acquire); }
  // Does the same in sequentially consistent order, for readers that hold a pin (reader_pins.h) while tables are
  // detached. Such a reader walks from the oldest table to this one, and ends early at a null.
  Table* PinnedNewest() const { return newest_.load(std::memory_order_seq_cst); }
  uint32_t size() const {
    const Table* const table = newest();
    return table == nullptr ? 0 : table->index() + 1;
  }
  // Returns whether the predicate holds for some table. There is at least one table. The answer of the last one is
  // returned without a branch on it, which could not be predicted for random items.
  bool Holds(auto&& predicate) const {
    const Table* table = newest();
    for (; table->older() != nullptr; table = table->older()) {
      if (predicate(*table)) return true;
    }
    return predicate(*table);
  }
  // Returns the sum of value(table) over all tables.
  uint64_t Sum(auto&& value) const {
    uint64_t sum = 0;
    for (const Table* table = newest(); table != nullptr; table = table->older()) sum += value(*table);
    return sum;
  }
  // use_counters returns where the use of the filter is counted now, Use all that was counted; null and nothing for an
  // empty chain.
  UseCounters* use_counters() const {
    Table* const table = newest();
    return table == nullptr ? nullptr : &table->use_;
  }
  std::optional<FilterUse> Use() const {
    if (newest() == nullptr) return std::nullopt;
    FilterUse use;
    for (const Table* table = newest(); table != nullptr; table = table->older()) table->use_.Collect(use);
    return use;
  }
  // Returns the chance that a lookup of an absent item finds it in some table.
  double ErrorRate(auto&& rate_of) const {
    double none = 1;
    for (const Table* table = newest(); table != nullptr; table = table->older()) none *= 1 - rate_of(*table);
    return 1 - none;
  }

  // Only the writer calls the functions below.

  // Returns the tables, oldest first.
  std::span<const std::unique_ptr<Table>> tables() const {
    if (held_ == nullptr) return {};
    return {held_->tables.data(), size()};
  }
  // Returns the same and the tables that were taken off.
  std::span<const std::unique_ptr<Table>> all_tables() const {
    if (held_ == nullptr) return {};
    return held_->tables;
  }
  // Returns the bytes of the tables' contents.
  uint64_t size_bytes() const { return held_ == nullptr ? 0 : held_->size_bytes; }
  // Returns all bytes taken from the budget, including those of tables that were taken off.
  uint64_t held_bytes() const { return held_ == nullptr ? 0 : held_->budget_bytes; }

  // Returns the heap bytes of the chain itself.
  uint64_t HeapBytes() const {
    if (held_ == nullptr) return 0;
    return BlockBytes(sizeof(Held)) + BlockBytes(held_->tables.capacity() * sizeof(held_->tables[0]));
  }

  // Appends the table, which takes `overhead_bytes` of the budget in addition to its contents. kOutOfMemory if the
  // budget refuses them; std::bad_alloc passes through. Both change nothing.
  Status Append(std::unique_ptr<Table> table, uint64_t overhead_bytes, MemoryBudget& budget) {
    MemoryReservation overhead = MemoryReservation::TryTake(budget, overhead_bytes);
    if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a further sub-filter");
    if (held_ == nullptr) held_ = std::make_unique<Held>();
    Table* const older = newest();
    Table& added = *table;
    added.older_ = older;
    added.index_ = older == nullptr ? 0 : older->index_ + 1;
    added.total_capacity_ = (older == nullptr ? 0 : older->total_capacity_) + added.capacity();
    added.total_bytes_ = (older == nullptr ? 0 : older->total_bytes_) + added.size_bytes() + overhead_bytes;
    added.overhead_ = std::move(overhead);
    held_->tables.push_back(std::move(table));
    held_->budget_bytes += added.size_bytes() + overhead_bytes;
    Connect(added);
    return {};
  }
  // Takes off the newest table, which is empty. It stays in memory for readers that still use it, and for Regrow.
  void TakeOffNewest() {
    Table& last = *newest();
    held_->size_bytes -= last.size_bytes();
    last.older_->newer_.store(nullptr, std::memory_order_release);
    newest_.store(last.older_, std::memory_order_release);
  }
  // Takes off the newest of several tables and returns it. It may be freed once no reader uses it.
  std::unique_ptr<Table> Detach() {
    std::unique_ptr<Table> last = std::move(held_->tables.back());
    held_->tables.pop_back();
    held_->size_bytes -= last->size_bytes();
    held_->budget_bytes -= last->size_bytes() + last->overhead_.bytes();
    last->older_->newer_.store(nullptr, std::memory_order_release);
    newest_.store(last->older_, std::memory_order_seq_cst);
    return last;
  }
  // Appends the table that was last taken off at this position; returns false if there is none.
  bool Regrow() {
    if (size() == held_->tables.size()) return false;
    Connect(*held_->tables[size()]);
    return true;
  }

 private:
  void Connect(Table& table) {
    held_->size_bytes += table.size_bytes();
    newest_.store(&table, std::memory_order_release);
    if (table.older_ != nullptr) table.older_->newer_.store(&table, std::memory_order_release);
  }

  // State that only the writer uses.
  struct Held {
    std::vector<std::unique_ptr<Table>> tables;  // all that were ever appended, oldest first
    uint64_t size_bytes = 0;
    uint64_t budget_bytes = 0;
  };

  std::atomic<Table*> newest_{nullptr};
  std::unique_ptr<Held> held_;  // null while there was never a table
};

}  // namespace bitsieve::core
