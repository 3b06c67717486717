// namespace.h: makes the names of commands:: available in server::.
#pragma once

namespace bitsieve::commands {}

namespace bitsieve::server {
using namespace commands;
}  // namespace bitsieve::server
