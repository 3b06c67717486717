// sketch_keyspace.h: what the commands on sketches need from the place where sketches live by name. Confined to the
// thread that runs the command.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/base/memory_budget.h"
#include "core/sketches/count_min.h"
#include "core/sketches/t_digest.h"
#include "core/sketches/top_k.h"

namespace bitsieve::commands {

using Sketch = std::variant<core::CountMin, core::TopK, core::TDigest>;

// The value of a key.
struct SketchKey {
  bool is_free = true;
  Sketch* sketch = nullptr;  // null: nothing, or a value that is no sketch
};

class SketchKeyspace {
 public:
  virtual ~SketchKeyspace() = default;

  // The sketch lives until its key is replaced. May be called for any argument of the command.
  virtual SketchKey Find(std::string_view key) = 0;
  // Stores a sketch in place of what the command's first key holds. The expiry of the key is lost.
  virtual void Put(Sketch sketch) = 0;
  // To be called by a command that replicas and the log must have.
  virtual void MarkChanged() = 0;

  // Whether so many bytes may be taken for a sketch.
  virtual bool Grants(uint64_t bytes) = 0;
  // The account of sketches.
  virtual core::MemoryBudget& memory() = 0;
};

}  // namespace bitsieve::commands
