// namespace.h: the server speaks of commands and their contexts as of its own.
#pragma once

namespace bitsieve::commands {}

namespace bitsieve::server {
using namespace commands;
}  // namespace bitsieve::server
