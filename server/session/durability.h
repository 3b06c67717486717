// durability.h: what commands and connections need to know about the log: whether changes may be made now, and how long
// their replies have to wait. Implemented at the root of server/.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace bitsieve::server {

class Durability {
 public:
  virtual ~Durability() = default;

  // Whether the disk refuses what would be logged now: then no change may be made. One load.
  virtual bool InTrouble() const = 0;
  // Why, for a client that is refused: file and the system's reason. The latest one, if the disk no longer refuses.
  virtual std::string Trouble() const = 0;

  // Called after commands that may have changed something: the position that the log must have reached before their
  // replies may be sent; 0: at once. With appendfsync always that is the end of the log, which must be durable; with
  // the other policies replies wait only while the unwritten records take more memory than they may, or the oldest of
  // them has waited for too long.
  virtual uint64_t AwaitedPosition() const = 0;
  // Calls `reached` once, when the log has come so far, from any thread; at once if it has. It must not block. If that
  // never happens, it is never called.
  virtual void Await(uint64_t position, std::function<void()> reached) = 0;

  // WAITAOF.
  virtual bool HasLog() const = 0;
  // Where the log ends now.
  virtual uint64_t End() const = 0;
  // Whether the log is synced up to there. Never true with appendfsync no, which leaves it to the system.
  virtual bool IsSynced(uint64_t position) const = 0;
};

}  // namespace bitsieve::server
