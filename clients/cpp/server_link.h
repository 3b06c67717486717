// server_link.h: one connection to a server, for a program that follows a filter: a command out, its reply in. hiredis
// does both. Confined to one thread, except for Interrupt.
#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "clients/cpp/server_url.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace bitsieve::clients {

struct ReplyCloser {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, ReplyCloser>;

class ServerLink {
 public:
  // Connects and authenticates, if the URL has a password. Each step, and each later one, takes at most `patience`.
  // kIo, with a message for people; kUnsupported for a URL that asks for TLS.
  core::Status Connect(const ServerUrl& url, std::chrono::milliseconds patience);
  bool is_connected() const { return context_ != nullptr; }
  void Close();

  // Returns the reply, which may be an error reply. After kIo the link is closed.
  core::Result<ReplyPtr> Ask(std::initializer_list<std::string_view> words);

  // Ends what another thread waits for in Ask, which then fails. Thread-safe.
  void Interrupt();

 private:
  struct ContextCloser {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  core::Status Authenticate(const ServerUrl& url);
  void SetDescriptor(int descriptor);

  std::unique_ptr<redisContext, ContextCloser> context_;
  core::Mutex mutex_;
  int descriptor_ BITSIEVE_GUARDED_BY(mutex_) = -1;  // of the context; negative: there is none
};

std::string_view TextOf(const redisReply& reply);

}  // namespace bitsieve::clients
