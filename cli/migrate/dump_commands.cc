#include "cli/migrate/dump_commands.h"

#include <string>
#include <utility>

namespace bitsieve::cli {

core::Outcome<std::optional<TargetCommand>> DumpCommands::Next() {
  if (stream_.AtEnd()) {
    if (!std::exchange(is_to_be_frozen_, false)) return std::nullopt;
    return TargetCommand{.command = "BF.FREEZE", .arguments = {}};
  }
  std::string piece;
  if (!stream_.Read(core::kDumpPieceBytes, piece)) return tl::unexpected<std::string>("out of memory");
  return TargetCommand{.command = "BF.LOADCHUNK", .arguments = {std::to_string(++pieces_), std::move(piece)}};
}

}  // namespace bitsieve::cli
