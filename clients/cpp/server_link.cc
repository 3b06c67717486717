#include "clients/cpp/server_link.h"

#include <sys/socket.h>

#include <array>
#include <cassert>
#include <new>
#include <utility>

namespace bitsieve::clients {

namespace {

constexpr size_t kMaxWords = 8;

timeval AsTimeval(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

std::string AddressText(const ServerUrl& url) {
  return url.unixsocket.empty() ? url.host + " port " + std::to_string(url.port) : url.unixsocket;
}

}  // namespace

std::string_view TextOf(const redisReply& reply) { return {reply.str, static_cast<size_t>(reply.len)}; }

core::Status ServerLink::Connect(const ServerUrl& url, std::chrono::milliseconds patience) {
  Close();
  if (url.tls) return core::Fail(core::ErrorCode::kUnsupported, "following over TLS is not supported");
  context_.reset(url.unixsocket.empty() ? redisConnectWithTimeout(url.host.c_str(), url.port, AsTimeval(patience))
                                        : redisConnectUnixWithTimeout(url.unixsocket.c_str(), AsTimeval(patience)));
  if (context_ == nullptr) throw std::bad_alloc();
  if (context_->err != 0) {
    const std::string problem = "cannot connect to " + AddressText(url) + ": " + context_->errstr;
    Close();
    return core::Fail(core::ErrorCode::kIo, problem);
  }
  SetDescriptor(context_->fd);
  redisSetTimeout(context_.get(), AsTimeval(patience));
  redisEnableKeepAlive(context_.get());
  return Authenticate(url);
}

core::Status ServerLink::Authenticate(const ServerUrl& url) {
  if (url.password.empty()) return {};
  const auto reply = url.user.empty() ? Ask({"AUTH", url.password}) : Ask({"AUTH", url.user, url.password});
  if (!reply) return tl::unexpected(reply.error());
  if ((*reply)->type != REDIS_REPLY_ERROR) return {};
  const std::string problem(TextOf(**reply));
  Close();
  return core::Fail(core::ErrorCode::kIo, AddressText(url) + " refuses the password: " + problem);
}

// While a descriptor is set, it is open.
void ServerLink::Close() {
  SetDescriptor(-1);
  context_.reset();
}

void ServerLink::SetDescriptor(int descriptor) {
  const core::LockGuard lock(mutex_);
  descriptor_ = descriptor;
}

core::Result<ReplyPtr> ServerLink::Ask(std::initializer_list<std::string_view> words) {
  assert(words.size() <= kMaxWords && is_connected());
  std::array<const char*, kMaxWords> texts;
  std::array<size_t, kMaxWords> sizes;
  size_t count = 0;
  for (const std::string_view word : words) {
    texts[count] = word.data();
    sizes[count++] = word.size();
  }
  void* const reply = redisCommandArgv(context_.get(), static_cast<int>(count), texts.data(), sizes.data());
  if (reply != nullptr) return ReplyPtr(static_cast<redisReply*>(reply));
  const std::string problem = std::string("the connection failed: ") + context_->errstr;
  Close();
  return core::Fail(core::ErrorCode::kIo, problem);
}

void ServerLink::Interrupt() {
  const core::LockGuard lock(mutex_);
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace bitsieve::clients
