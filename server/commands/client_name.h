// client_name.h: what a connection may be called, by CLIENT SETNAME and HELLO. Thread-safe: pure functions.
#pragma once

#include <algorithm>
#include <string_view>

#include "server/commands/wire_errors.h"

namespace bitsieve::server {

inline constexpr size_t kMaxClientNameBytes = 1024;

// CLIENT LIST is lines of fields with blanks between them: a name must not look like more than one.
inline bool IsPlainText(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte >= '!' && byte <= '~'; });
}

// The error text, or empty if the name will do.
inline std::string_view ClientNameError(std::string_view name) {
  if (name.size() > kMaxClientNameBytes) return wire::kLongClientName;
  return IsPlainText(name) ? std::string_view{} : wire::kBadClientName;
}

}  // namespace bitsieve::server
