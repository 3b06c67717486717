#include "clients/cpp/followed_filter.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <thread>
#include <utility>

#include "clients/cpp/filter_copy.h"
#include "clients/cpp/lookups.h"
#include "clients/cpp/server_link.h"
#include "clients/cpp/shown_copy.h"
#include "core/base/mutex.h"
#include "core/base/out_of_memory.h"
#include "core/base/quote.h"
#include "core/base/thread_name.h"
#include "core/filter/filter_dump.h"

namespace bitsieve {

namespace {

using clients::FilterCopy;
using clients::ReplyPtr;
using clients::TextOf;
using std::chrono::milliseconds;

constexpr milliseconds kMaxPause{5000};  // before a server that cannot be reached is tried again
constexpr int64_t kSaveIntervalMs = 60'000;
// A reply of so many changes holds the server's loop for less than a millisecond.
constexpr std::string_view kChangesAtATime = "16384";

int64_t NowMs() { return core::SystemClock().MonotonicMs(); }

bool IsError(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }

// Returns whether the reply is an array of three elements of these types.
bool IsTriple(const redisReply& reply, std::array<int, 3> types) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != types.size()) return false;
  return std::ranges::equal(types, std::span(reply.element, reply.elements), {}, {},
                            [](const redisReply* element) { return element->type; });
}

tl::unexpected<Error> Unexpected(const redisReply& reply, std::string_view command) {
  const std::string text = IsError(reply) ? std::string(TextOf(reply)) : "a reply of another form";
  return core::Fail(ErrorCode::kIo, std::string(command) + " returned: " + text);
}

}  // namespace

class FollowedFilter::Follower {
 public:
  Follower(clients::ServerUrl url, std::string key, FollowOptions options)
      : url_(std::move(url)), key_(std::move(key)), options_(std::move(options)) {}
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower() { Stop(); }

  // Makes the first copy.
  Status Begin();
  // Starts the thread.
  void Start();

  // Calls use(copy). The copy stays while it is used.
  template <class Use>
  auto WithCopy(const Use& use) const {
    return copy_.Read(use);
  }
  int64_t current_ms() const { return current_ms_.load(std::memory_order_relaxed); }
  uint64_t dumps_read() const { return dumps_read_.load(std::memory_order_relaxed); }
  std::string position() const {
    const core::LockGuard lock(mutex_);
    return position_;
  }
  std::string trouble() const {
    const core::LockGuard lock(mutex_);
    return trouble_.empty() ? save_trouble_ : trouble_;
  }

 private:
  void Run();
  void Stop();
  // Waits; returns false once it is to stop.
  bool Pause(milliseconds time);
  // Brings the copy up to date, and connects first if needed.
  Status Advance();
  Status ReadDump();
  Status ReadChanges();
  // Returns the reply to one BF.CHANGES; null if the changes are no longer there.
  Result<ReplyPtr> AskChanges();
  Status LoadSaved();
  void SaveIfDue(bool at_end);
  void Publish(std::unique_ptr<FilterCopy> copy);
  void SetPosition(std::string position);
  void SetTrouble(std::string text) {
    const core::LockGuard lock(mutex_);
    trouble_ = std::move(text);
  }
  void SetSaveTrouble(std::string text) {
    const core::LockGuard lock(mutex_);
    save_trouble_ = std::move(text);
  }
  tl::unexpected<Error> NoFilter() const {
    return core::Fail(ErrorCode::kIo, "there is no filter " + core::Quoted(key_));
  }

  const clients::ServerUrl url_;
  const std::string key_;
  const FollowOptions options_;

  // Members of the thread; before it starts, of the caller.
  clients::ServerLink link_;
  std::string saved_position_;
  int64_t saved_ms_ = NowMs();

  clients::ShownCopy<FilterCopy> copy_;
  std::atomic<int64_t> current_ms_{0};   // relaxed: only shown
  std::atomic<uint64_t> dumps_read_{0};  // relaxed: only shown

  mutable core::Mutex mutex_;
  core::ConditionVariable stop_;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::string position_ BITSIEVE_GUARDED_BY(mutex_);
  std::string trouble_ BITSIEVE_GUARDED_BY(mutex_);
  std::string save_trouble_ BITSIEVE_GUARDED_BY(mutex_);
  std::thread thread_;
};

// ---- the thread

Status FollowedFilter::Follower::Begin() {
  const bool is_saved = !options_.cache_path.empty() && LoadSaved().has_value();
  const Status status = Advance();
  if (status || !is_saved) return status;
  SetTrouble(status.error().message);
  return {};
}

// The program's signals are left to its own threads.
void FollowedFilter::Follower::Start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void FollowedFilter::Follower::Stop() {
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyOne();
  link_.Interrupt();
  if (!thread_.joinable()) return;
  thread_.join();
  SaveIfDue(true);
}

bool FollowedFilter::Follower::Pause(milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const core::LockGuard lock(mutex_);
  while (!stopping_ && stop_.WaitUntil(mutex_, until)) continue;
  return !stopping_;
}

void FollowedFilter::Follower::Run() {
  core::NameThread("follower");
  milliseconds pause = options_.interval;
  while (Pause(pause)) {
    const Status status = core::OrOutOfMemory([this] { return Advance(); });
    core::UntilThereIsMemory([&] { SetTrouble(status ? "" : status.error().message); });
    pause =
        status ? options_.interval : std::clamp(pause * 2, milliseconds(10), std::max(kMaxPause, options_.interval));
    SaveIfDue(false);
  }
}

Status FollowedFilter::Follower::Advance() {
  if (!link_.is_connected()) {
    if (Status status = link_.Connect(url_, options_.timeout); !status) return status;
  }
  return position().empty() ? ReadDump() : ReadChanges();
}

// ---- the copy

void FollowedFilter::Follower::SetPosition(std::string position) {
  const core::LockGuard lock(mutex_);
  position_ = std::move(position);
}

void FollowedFilter::Follower::Publish(std::unique_ptr<FilterCopy> copy) {
  SetPosition(copy->position);
  copy_.Show(std::move(copy));
}

// The copy from before serves until the new one is complete.
Status FollowedFilter::Follower::ReadDump() {
  const int64_t asked_ms = NowMs();
  clients::ArrivingCopy arriving(options_.memory_limit_bytes);
  std::string position;
  for (std::string iterator = "0";;) {
    Result<ReplyPtr> reply = link_.Ask({"BF.FOLLOW", key_, iterator});
    if (!reply) return tl::unexpected(reply.error());
    if (IsError(**reply) && TextOf(**reply) == "ERR not found") return NoFilter();
    if (!IsTriple(**reply, {REDIS_REPLY_INTEGER, REDIS_REPLY_STRING, REDIS_REPLY_STRING})) {
      return Unexpected(**reply, "BF.FOLLOW");
    }
    redisReply* const* const parts = (*reply)->element;
    if (parts[0]->integer == 0) break;
    if (Status status = arriving.Append(TextOf(*parts[1])); !status) return status;
    iterator = std::to_string(parts[0]->integer);
    position = TextOf(*parts[2]);
  }
  Result<std::unique_ptr<FilterCopy>> copy = arriving.Finish(std::move(position));
  if (!copy) return tl::unexpected(copy.error());
  Publish(std::move(*copy));
  dumps_read_.fetch_add(1, std::memory_order_relaxed);
  current_ms_.store(asked_ms, std::memory_order_relaxed);
  return {};
}

Result<ReplyPtr> FollowedFilter::Follower::AskChanges() {
  Result<ReplyPtr> reply = link_.Ask({"BF.CHANGES", key_, copy_.get()->position, "COUNT", kChangesAtATime});
  if (!reply || !IsError(**reply)) return reply;
  const std::string_view text = TextOf(**reply);
  if (text.starts_with("GAP")) return ReplyPtr();
  if (text == "ERR not found") return NoFilter();
  return Unexpected(**reply, "BF.CHANGES");
}

Status FollowedFilter::Follower::ReadChanges() {
  while (true) {
    const int64_t asked_ms = NowMs();
    const Result<ReplyPtr> reply = AskChanges();
    if (!reply) return tl::unexpected(reply.error());
    if (*reply == nullptr) return ReadDump();
    if (!IsTriple(**reply, {REDIS_REPLY_STRING, REDIS_REPLY_STRING, REDIS_REPLY_INTEGER})) {
      return Unexpected(**reply, "BF.CHANGES");
    }
    redisReply* const* const parts = (*reply)->element;
    if (Status status = copy_.get()->Apply(TextOf(*parts[1])); !status) {
      SetPosition("");  // some changes were made: the filter must be read again
      return status;
    }
    copy_.get()->position = TextOf(*parts[0]);
    SetPosition(copy_.get()->position);
    if (parts[2]->integer != 0) continue;
    current_ms_.store(asked_ms, std::memory_order_relaxed);
    return {};
  }
}

// ---- the cache file

Status FollowedFilter::Follower::LoadSaved() {
  Result<clients::SavedCopy> saved = clients::LoadCopy(options_.cache_path, key_, options_.memory_limit_bytes);
  if (!saved) return tl::unexpected(saved.error());
  const int64_t age_ms = std::max<int64_t>(0, core::SystemClock().WallMs() - saved->saved_ms);
  current_ms_.store(NowMs() - age_ms, std::memory_order_relaxed);
  saved_position_ = saved->copy->position;
  Publish(std::move(saved->copy));
  return {};
}

void FollowedFilter::Follower::SaveIfDue(bool at_end) {
  if (options_.cache_path.empty() || (!at_end && NowMs() - saved_ms_ < kSaveIntervalMs)) return;
  saved_ms_ = NowMs();
  if (position().empty() || copy_.get()->position == saved_position_) return;
  const Status status = core::OrOutOfMemory([&] {
    const int64_t current_wall_ms = core::SystemClock().WallMs() - (NowMs() - current_ms());
    Status saved = clients::SaveCopy(options_.cache_path, key_, *copy_.get(), current_wall_ms);
    if (saved) saved_position_ = copy_.get()->position;
    return saved;
  });
  core::UntilThereIsMemory([&] { SetSaveTrouble(status ? "" : status.error().message); });
}

// ---- the public face

FollowedFilter::FollowedFilter(std::unique_ptr<Follower> follower) : follower_(std::move(follower)) {}
FollowedFilter::FollowedFilter(FollowedFilter&& other) noexcept = default;
FollowedFilter& FollowedFilter::operator=(FollowedFilter&& other) noexcept = default;
FollowedFilter::~FollowedFilter() = default;

Result<FollowedFilter> FollowedFilter::Follow(const std::string& url, const std::string& key,
                                              const FollowOptions& options) {
  core::Outcome<clients::ServerUrl> parsed = clients::ParseServerUrl(url);
  if (!parsed) return core::Fail(ErrorCode::kInvalidArgument, parsed.error());
  if (options.interval.count() < 1 || options.timeout.count() < 1) {
    return core::Fail(ErrorCode::kInvalidArgument, "the interval and the timeout must be at least 1 ms");
  }
  auto follower = std::make_unique<Follower>(std::move(*parsed), key, options);
  if (Status status = follower->Begin(); !status) return tl::unexpected(std::move(status).error());
  follower->Start();
  return FollowedFilter(std::move(follower));
}

bool FollowedFilter::MayContain(std::string_view item) const {
  return follower_->WithCopy([&](const FilterCopy& copy) { return clients::MayContain(*copy.filter, item); });
}

void FollowedFilter::MayContain(std::span<const std::string_view> items, std::span<uint8_t> present) const {
  assert(items.size() == present.size());
  follower_->WithCopy([&](const FilterCopy& copy) { clients::MayContain(*copy.filter, items, present); });
}

// Not rounded down to a tick of the clock, as NowMs is.
milliseconds FollowedFilter::Staleness() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::ceil<milliseconds>(now) - milliseconds(follower_->current_ms());
}

std::string FollowedFilter::Position() const { return follower_->position(); }
std::string FollowedFilter::Trouble() const { return follower_->trouble(); }
uint64_t FollowedFilter::DumpsRead() const { return follower_->dumps_read(); }

FilterDescription FollowedFilter::Describe() const {
  return follower_->WithCopy([](const FilterCopy& copy) { return clients::Describe(*copy.filter); });
}

Result<std::string> FollowedFilter::ToBytes() const {
  return follower_->WithCopy([](const FilterCopy& copy) { return core::DumpFilter(*copy.filter); });
}

}  // namespace bitsieve
