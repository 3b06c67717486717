// command_guess.h: the error for a command that does not exist, which says what may have been meant.
// Thread-safe: a pure function.
#pragma once

#include <string>

#include "commands/argument_reader.h"
#include "server/namespace.h"

namespace bitsieve::server {

class CommandTable;

// Of a command of Redis that reads or writes values, the error says what this server holds instead; else it names the
// command of the most similar name, if one is similar; else it quotes the arguments, as Redis does. It begins with
// "ERR unknown command", which clients look for.
std::string UnknownCommandError(const CommandTable& table, Arguments command);

}  // namespace bitsieve::server
