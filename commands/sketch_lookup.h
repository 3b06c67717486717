// sketch_lookup.h: how the handlers of commands on sketches find a key's sketch. Thread-safe: free functions.
#pragma once

#include <string_view>
#include <variant>

#include "commands/command.h"
#include "commands/sketch_keyspace.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {

inline SketchKeyspace& Sketches(const CommandContext& context) { return *context.environment.sketches; }

// Redis' text, without a usage after it.
inline void SketchArityError(CommandContext& context) { context.Error(wire::WrongArity(context.row->name)); }

// Returns the sketch of this kind. Null: it has replied with `missing`, or that the key holds something else.
template <class Kind>
Kind* FindSketch(CommandContext& context, std::string_view key, std::string_view missing) {
  const SketchKey found = Sketches(context).Find(key);
  Kind* const sketch = found.sketch == nullptr ? nullptr : std::get_if<Kind>(found.sketch);
  if (sketch == nullptr) context.Error(found.is_free ? missing : wire::kWrongType);
  return sketch;
}

}  // namespace bitsieve::commands
