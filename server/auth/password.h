// password.h: passwords as they are kept: SHA-256 of their bytes, as in Redis, so that its ACL files can be taken over.
// Passwords of clients are long and random, or made by ACL GENPASS: a slow hash would let anyone who sends wrong ones
// take the server's time. Thread-safe: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::server {

// Longer ones are refused, so that no password takes long to hash.
inline constexpr size_t kMaxPasswordBytes = 16 * 1024;

using PasswordHash = std::array<uint8_t, 32>;

PasswordHash HashPassword(std::string_view password);
// In a time that does not depend on where they differ.
bool SameHash(const PasswordHash& a, const PasswordHash& b);
// 64 hexadecimal digits in lower case.
std::string HexOf(const PasswordHash& hash);
// Nothing unless it is such.
std::optional<PasswordHash> ParseHash(std::string_view hex);

// Hexadecimal digits of this many random bits, rounded up to a digit, from the system's source for secrets.
std::string RandomPassword(size_t bits);

}  // namespace bitsieve::server
