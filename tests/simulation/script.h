// script.h: what happens in a run: options, lives of the server with the commands of each client, faults, and how each
// life ends. It is a text of lines, so that a failing run can be kept, read, and made shorter:
//
//   seed 17                           of the order of threads, the faults' details, and all else that is random
//   switch 8                          a thread gives up its turn at one of so many calls
//   option appendfsync always         of the server
//   life                              a start of the server
//   refuse 40 3                       from the 40th step of the disk on, three steps are refused
//   slow 10 5 200                     from the 10th on, five steps take up to 200 ms
//   lie 0 1000                        of these steps, those that sync report it and do nothing. No server can keep its
//                                     promises on such a disk: no seed has this, and what finds it can find faults
//   clock 1500 -60000                 after 1500 us, the clock of the time of day is set back by a minute
//   memory 800 20000                  after 800 us, filters may take 20,000 bytes
//   client 1 BF.ADD c1:0 c1:i3        commands, in the order in which this client sends them; "@+500" is the time of
//   client 1 MULTI | DEL c1:0 | EXEC  day in 500 ms, and "|" separates the commands of a transaction
//   client 1 reconnect
//   client 1 duplicate c1:0 c1:2      BF.DUMP, and BF.RESTORE of what it returns under the second name; with "chunks"
//                                     at the end, BF.SCANDUMP and BF.LOADCHUNK
//   end power step 60                 the machine goes down at the 60th step of the disk; or "end kill step N", "end
//                                     kill time N" and "end power time N" (us), "end stop save", "end stop nosave"
//
// Thread-compatible: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/model.h"

namespace bitsieve::simulation {

struct Fault {
  enum class Kind : uint8_t { kRefuse, kSlow, kLie };
  Kind kind;
  uint64_t from_step;
  uint64_t steps;
  int64_t most_ms = 0;  // of kSlow
};

struct ClockStep {
  int64_t after_us;
  int64_t step_ms;
};

struct MemoryStep {
  int64_t after_us;
  uint64_t bytes;
};

struct Ending {
  enum class Kind : uint8_t { kKill, kPower, kStopAndSave, kStop };
  Kind kind = Kind::kStop;
  uint64_t step = 0;     // of the disk, from 1 on; 0: at the time
  int64_t after_us = 0;  // since the life began

  bool is_crash() const { return kind == Kind::kKill || kind == Kind::kPower; }
};

struct ClientLine {
  size_t client;
  Words words;
};

struct Life {
  std::vector<Fault> faults;
  std::vector<ClockStep> clock_steps;
  std::vector<MemoryStep> memory_steps;
  std::vector<ClientLine> commands;
  Ending ending;
};

struct Script {
  uint64_t seed = 0;
  uint64_t switch_every = 8;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<Life> lives;

  const std::string* Option(const std::string& name) const;
  size_t commands() const;
  // Whether filters may be refused memory in any of its lives.
  bool refuses_memory() const;
};

// The script of a seed: the same for the same seed.
Script MakeScript(uint64_t seed);

std::string ToText(const Script& script);
// Returns nothing if a line is not understood.
std::optional<Script> FromText(const std::string& text);

}  // namespace bitsieve::simulation
