// command_batch.h: the commands of a read buffer, and replies that come later than those of the batch. Confined to the
// loop.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "protocol/reply_writer.h"
#include "server/session/kept_arguments.h"

namespace bitsieve::server {

// The commands found in a read buffer: their arguments end to end, and where each ends. Reused, so that the steady
// state allocates nothing.
struct CommandBatch {
  mutable std::vector<std::string_view> arguments;  // may be taken over: see Own()
  std::vector<size_t> ends;                         // ends[i]: one past the last argument of command i
  ArgumentBytes* bytes = nullptr;                   // can keep the arguments alive; null: nothing can

  size_t size() const { return ends.size(); }
  commands::Arguments operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return commands::Arguments(arguments).subspan(begin, ends[i] - begin);
  }
  // Returns the arguments of command i, if nothing else is in `arguments`; null otherwise. A caller that takes them
  // over leaves the vector empty.
  std::vector<std::string_view>* Own(size_t i) const { return i == 0 && ends.size() == 1 ? &arguments : nullptr; }
  void Clear() {
    arguments.clear();
    ends.clear();
  }
};

// A reply that comes later (SAVE, and what runs on a worker): the connection runs nothing further until it is there.
// `start` is called once, on the loop; it must see to it that `finish` is called once, from any thread, with a function
// that writes the reply; that function is then run on the connection's loop.
using WriteReply = std::function<void(protocol::ReplyWriter&)>;
using Finish = std::function<void(WriteReply)>;
using DeferredReply = std::function<void(Finish finish)>;

}  // namespace bitsieve::server
