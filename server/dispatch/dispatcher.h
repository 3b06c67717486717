// dispatcher.h: runs batches of commands against the keyspace. Knows arguments and replies, no socket.
//
// A batch is the unit of work. For each window of up to kWindow commands the dispatcher first looks up rows and
// filters, hashes items and prefetches the cache lines they will touch; then it runs the commands in order. Answers are
// exactly those of one-by-one execution; only memory latency overlaps.
//
// Thread-safe where const; each loop owns one Dispatcher, and only that loop calls it (confined to its loop).
#pragma once

#include <cstddef>
#include <memory>

#include "server/dispatch/environment.h"
#include "server/session/executor.h"

namespace bitsieve::server {

class Dispatcher final : public Executor {
 public:
  explicit Dispatcher(const Environment& environment);
  ~Dispatcher() override;

  void Prepare(const Session& session, const CommandBatch& batch, PreparedCommands& prepared) override;
  void Forget() override;
  Outcome Execute(Session& session, const CommandBatch& batch, size_t first, protocol::ReplyWriter& reply,
                  const PreparedCommands* prepared = nullptr) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitsieve::server
