// filter_collector.h: goes through all filters again and again, on a thread of its own, so that what looks at all of
// them is there when it is wanted: their totals, and the figures of those that have metrics of their own. It takes a
// share of one core at most (kDuty), and a lock of the keyspace for as long as it takes to copy the names of one shard.
//
// Thread-safe, except for Start() and Stop(), which are for one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "server/http/filter_figures.h"
#include "server/http/filter_list.h"
#include "server/keyspace/keyspace.h"
#include "server/metrics/metric_readings.h"
#include "server/metrics/metric_table.h"

namespace bitsieve::server {

// The filters that have metrics of their own.
struct ChosenFilters {
  size_t largest = 0;
  std::vector<std::string> patterns = {};  // globs
};

// The result of one pass over all filters.
struct Collection {
  FilterTotals totals;
  std::vector<FilterFigures> chosen;  // largest first; each once
  uint64_t left_out = 0;              // match a pattern, but are too many
  std::chrono::steady_clock::time_point ended;
  std::chrono::nanoseconds work{0};        // of the thread, without its pauses
  std::shared_ptr<const FilterList> list;  // of all; null: it was not wanted
};

class FilterCollector {
 public:
  // At most this many of the filters that match a pattern have metrics: the largest ones.
  static constexpr size_t kMaxMatching = 1000;
  static constexpr std::chrono::seconds kInterval{2};  // between the beginnings of passes, at least
  static constexpr double kDuty = 0.02;
  static constexpr double kHurriedDuty = 0.5;                // while a list is waited for
  static constexpr std::chrono::seconds kListWantedFor{60};  // after it was used

  // `keyspace` and `is_loading` outlive it. Nothing is collected while filters are being loaded.
  FilterCollector(const Keyspace& keyspace, std::function<bool()> is_loading)
      : keyspace_(keyspace), is_loading_(std::move(is_loading)) {}
  ~FilterCollector() { Stop(); }

  void Choose(ChosenFilters chosen);
  void Start();
  void Stop();

  // Null: no pass is complete yet.
  std::shared_ptr<const Collection> Latest() const;
  // The list of all filters; null: not yet. It takes memory, so it is only made while it is used: a first call has the
  // next pass begin at once, and take more of its core.
  std::shared_ptr<const FilterList> List();

 private:
  class Pass;

  void Run();
  void CollectOnce();
  // False: it is to end. A first call of List() ends the time between passes.
  bool Rest(std::chrono::nanoseconds time, bool between_passes);
  // Whether the list was used recently; and whether it was, but there is none.
  bool WantsList() const BITSIEVE_REQUIRES(mutex_);
  bool LacksList() const BITSIEVE_REQUIRES(mutex_) {
    return WantsList() && (latest_ == nullptr || latest_->list == nullptr);
  }

  const Keyspace& keyspace_;
  const std::function<bool()> is_loading_;
  std::thread thread_;
  mutable core::Mutex mutex_;
  core::ConditionVariable wake_;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  ChosenFilters chosen_ BITSIEVE_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point list_used_ BITSIEVE_GUARDED_BY(mutex_);  // the epoch: never
  std::shared_ptr<const Collection> latest_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
