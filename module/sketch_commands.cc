#include "module/sketch_commands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>

#include "module/options.h"

namespace bitsieve::module {
namespace {

constexpr std::array kNames{"cms.initbydim", "cms.initbyprob", "cms.incrby",   "cms.merge",
                            "topk.reserve",  "topk.add",       "topk.incrby",  "tdigest.create",
                            "tdigest.add",   "tdigest.reset",  "tdigest.merge"};

uint64_t dropped = 0;

// Ends the process, as the engine does where it reads a command that it does not know.
[[noreturn]] void Stop(const std::string& name, const char* source, const char* advice) {
  engine::Log(nullptr, "warning",
              "bitsieve: stopping: %s has the command %s, and bitsieve.so does not carry RedisBloom's sketches "
              "(Count-Min Sketch, Top-K, t-digest). %s",
              source, name.c_str(), advice);
  std::_Exit(EXIT_FAILURE);
}

void Drop(const std::string& name) {
  ++dropped;
  static std::set<std::string>& logged = *new std::set<std::string>;
  if (!logged.insert(name).second) return;
  engine::Log(nullptr, "warning",
              "bitsieve: the master sent %s, and bitsieve.so does not carry RedisBloom's sketches (Count-Min Sketch, "
              "Top-K, t-digest): this node lacks their keys and must not take the master's place. INFO modules counts "
              "such commands as bf_dropped_sketch_commands; with bf.for-redisbloom yes this node stops at the first",
              name.c_str());
}

int RunSketchCommand(engine::Context* context, engine::String** argv, int /*argc*/) {
  std::string name(engine::TextOf(argv[0]));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  const int flags = engine::GetContextFlags(context);
  if ((flags & engine::kContextLoading) != 0) {
    Stop(name, "the append-only file", "Start RedisBloom on these files, and move the sketches away first");
  }
  if ((flags & engine::kContextReplicated) != 0) {
    if (OwnSettings().for_redisbloom.load(std::memory_order_relaxed)) {
      Stop(name, "the master",
           "Move the sketches to another node first, or set bf.for-redisbloom no to continue without them");
    }
    Drop(name);
  }
  const std::string error =
      "ERR unknown command '" + name + "': bitsieve.so has RedisBloom's Bloom and cuckoo filters, not its sketches";
  return engine::ReplyWithError(context, error.c_str());
}

}  // namespace

bool RegisterSketchCommands(engine::Context* context) {
  constexpr int kKey = 1;
  for (const char* const name : kNames) {
    if (engine::CreateCommand(context, name, RunSketchCommand, "write", kKey, kKey, kKey) == engine::kOk) continue;
    engine::Log(context, "warning", "bitsieve: another module already has the command %s: load only one of them", name);
    return false;
  }
  return true;
}

uint64_t DroppedSketchCommands() { return dropped; }

}  // namespace bitsieve::module
