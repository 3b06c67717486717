// sketch_commands.h: the rows of the commands on RedisBloom's sketches: CMS.*, TOPK.* and TDIGEST.*. Arguments are
// checked in RedisBloom's order, and errors are RedisBloom's to the letter. Their handlers need a host with a
// SketchKeyspace in the environment. Thread-safe: constants.
#pragma once

#include <array>
#include <span>

#include "commands/command.h"

namespace bitsieve::commands {

std::span<const CommandRow> CountMinCommands();
std::span<const CommandRow> TopKCommands();
std::span<const CommandRow> TDigestCommands();

inline constexpr std::array kSketchCommands{CountMinCommands, TopKCommands, TDigestCommands};

}  // namespace bitsieve::commands
