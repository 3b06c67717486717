// command_guess.h: the error for a command that does not exist, which suggests what may have been meant.
// Thread-safe: a pure function.
#pragma once

#include <string>

#include "commands/argument_reader.h"

namespace bitsieve::server {

class CommandTable;

// For a Redis command that reads or writes values, the error states what this server stores instead; otherwise it
// suggests the command with the most similar name, if one is similar; otherwise it quotes the arguments, as Redis does.
// It begins with "ERR unknown command", which clients look for.
std::string UnknownCommandError(const CommandTable& table, commands::Arguments command);

}  // namespace bitsieve::server
