#include "server/http/filter_collector.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/glob.h"
#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using Clock = std::chrono::steady_clock;

// Names visited between pauses. A step takes as many shards as have so many.
constexpr uint64_t kStep = 512;

}  // namespace

class FilterCollector::Pass {
  // The largest filters of those that are shown to it. Equally large ones are ordered by name, so that it is not chance
  // which of them have metrics.
  class Largest {
   public:
    explicit Largest(size_t most) : most_(most) {}

    void Show(std::string_view name, const FilterPtr& filter, uint64_t size_bytes) {
      if (most_ == 0) return;
      ++shown_;
      if (kept_.size() == most_ && !IsLarger(size_bytes, name, kept_.front())) return;
      if (kept_.size() == most_) {
        std::ranges::pop_heap(kept_, Before);
        kept_.pop_back();
      }
      kept_.push_back({size_bytes, std::string(name), filter});
      std::ranges::push_heap(kept_, Before);
    }
    uint64_t left_out() const { return shown_ - kept_.size(); }

    struct Kept {
      uint64_t size_bytes;
      std::string name;
      FilterPtr filter;
    };
    std::vector<Kept> Take() { return std::exchange(kept_, {}); }

   private:
    static bool IsLarger(uint64_t size_bytes, std::string_view name, const Kept& kept) {
      return size_bytes != kept.size_bytes ? size_bytes > kept.size_bytes : name < kept.name;
    }
    static bool Before(const Kept& a, const Kept& b) { return IsLarger(a.size_bytes, a.name, b); }

    const size_t most_;
    uint64_t shown_ = 0;
    std::vector<Kept> kept_;  // a heap, the smallest first
  };

 public:
  Pass(ChosenFilters chosen, std::shared_ptr<FilterList> list) : chosen_(std::move(chosen)), list_(std::move(list)) {}

  // Copies what the keyspace shows; with its lock held.
  void Add(std::string_view name, const FilterPtr& filter) {
    names_.append(name);
    ends_.push_back(names_.size());
    filters_.push_back(filter);
  }
  // Looks at what was noted.
  void Use() {
    size_t begin = 0;
    for (size_t i = 0; i < filters_.size(); ++i) {
      Use(std::string_view(names_).substr(begin, ends_[i] - begin), filters_[i]);
      begin = ends_[i];
    }
    names_.clear();
    ends_.clear();
    filters_.clear();
  }

  Collection Finish() {
    collection_.left_out = matching_.left_out();
    std::vector<Largest::Kept> kept = largest_.Take();
    std::ranges::move(matching_.Take(), std::back_inserter(kept));
    std::ranges::sort(kept, [](const auto& a, const auto& b) {
      return a.size_bytes != b.size_bytes ? a.size_bytes > b.size_bytes : a.name < b.name;
    });
    for (const Largest::Kept& each : kept) {
      if (!collection_.chosen.empty() && collection_.chosen.back().name == each.name) continue;
      collection_.chosen.push_back(FiguresOf(each.name, *each.filter));
    }
    return std::move(collection_);
  }

 private:
  void Use(std::string_view name, const FilterPtr& filter) {
    const core::FilterInfo info = filter->Info();
    FilterTotals& totals = collection_.totals;
    ++totals.filters;
    totals.size_bytes += info.size_bytes;
    totals.sub_filters += info.sub_filters;
    totals.items += info.items;
    totals.capacity += info.capacity;
    if (list_ != nullptr) list_->Add(name, *filter, info);
    largest_.Show(name, filter, info.size_bytes);
    const bool matches =
        std::ranges::any_of(chosen_.patterns, [&](const std::string& glob) { return core::GlobMatch(glob, name); });
    if (matches) matching_.Show(name, filter, info.size_bytes);
  }

  const ChosenFilters chosen_;
  const std::shared_ptr<FilterList> list_;  // null: none is made
  Largest largest_{chosen_.largest};
  Largest matching_{kMaxMatching};
  Collection collection_;
  // Noted and not yet used: names end to end, and where each ends.
  std::string names_;
  std::vector<size_t> ends_;
  std::vector<FilterPtr> filters_;
};

void FilterCollector::Choose(ChosenFilters chosen) {
  const core::LockGuard lock(mutex_);
  chosen_ = std::move(chosen);
}

std::shared_ptr<const Collection> FilterCollector::Latest() const {
  const core::LockGuard lock(mutex_);
  return latest_;
}

void FilterCollector::Start() {
  thread_ = std::thread([this] { Run(); });
}

void FilterCollector::Stop() {
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const FilterList> FilterCollector::List() {
  const core::LockGuard lock(mutex_);
  list_used_ = Clock::now();
  if (!LacksList()) return latest_->list;
  wake_.NotifyAll();
  return nullptr;
}

bool FilterCollector::WantsList() const {
  return list_used_ != Clock::time_point() && Clock::now() - list_used_ < kListWantedFor;
}

bool FilterCollector::Rest(std::chrono::nanoseconds time, bool between_passes) {
  const Clock::time_point end = Clock::now() + time;
  const core::LockGuard lock(mutex_);
  while (!stopping_ && Clock::now() < end && !(between_passes && LacksList() && !is_loading_())) {
    wake_.WaitUntil(mutex_, end);
  }
  return !stopping_;
}

void FilterCollector::Run() {
  core::NameThread("collector");
  Clock::time_point begin;
  do {
    begin = Clock::now();
    try {
      if (!is_loading_()) CollectOnce();
    } catch (const std::bad_alloc&) {
      // The next pass may have the memory.
    }
  } while (Rest(begin + kInterval - Clock::now(), true));
}

void FilterCollector::CollectOnce() {
  ChosenFilters chosen;
  std::shared_ptr<const Collection> before;
  std::shared_ptr<FilterList> list;
  double duty = kDuty;
  {
    const core::LockGuard lock(mutex_);
    chosen = chosen_;
    before = latest_;
    if (WantsList()) list = std::make_shared<FilterList>();
    if (LacksList()) duty = kHurriedDuty;
  }
  Pass pass(std::move(chosen), list);
  std::chrono::nanoseconds work{0};
  uint64_t cursor = 0;
  do {
    const Clock::time_point begin = Clock::now();
    cursor =
        keyspace_.Scan(cursor, kStep, [&](std::string_view name, const FilterPtr& filter) { pass.Add(name, filter); });
    pass.Use();
    const auto took = Clock::now() - begin;
    work += took;
    if (!Rest(std::chrono::duration_cast<std::chrono::nanoseconds>(took * (1 / duty - 1)), false)) return;
  } while (cursor != 0);
  auto collection = std::make_shared<Collection>(pass.Finish());
  collection->work = work;
  collection->ended = Clock::now();
  if (list != nullptr) {
    const bool has_before = before != nullptr && before->list != nullptr;
    list->Finish(has_before ? before->list.get() : nullptr,
                 has_before ? std::chrono::duration<double>(collection->ended - before->ended).count() : 0);
    collection->list = std::move(list);
  }
  const core::LockGuard lock(mutex_);
  latest_ = std::move(collection);
}

}  // namespace bitsieve::server
