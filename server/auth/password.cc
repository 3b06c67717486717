#include "server/auth/password.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>
#include <system_error>
#include <vector>

namespace bitsieve::server {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void AppendHex(std::string& text, uint8_t byte) {
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

// From the kernel, not by RAND_bytes(): that one allocates, and can't say whether it fails for want of memory.
void FillWithRandom(std::span<uint8_t> bytes) {
  constexpr size_t kMax = 256;  // per call of getentropy(3)
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMax));
    if (getentropy(part.data(), part.size()) != 0) {
      throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace

PasswordHash HashPassword(std::string_view password) {
  PasswordHash hash;
  if (EVP_Digest(password.data(), password.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();  // it fails for want of memory alone
  }
  return hash;
}

bool SameHash(const PasswordHash& a, const PasswordHash& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

std::string HexOf(const PasswordHash& hash) {
  std::string text;
  for (const uint8_t byte : hash) AppendHex(text, byte);
  return text;
}

std::optional<PasswordHash> ParseHash(std::string_view hex) {
  PasswordHash hash;
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    const size_t high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    hash[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return hash;
}

std::string RandomPassword(size_t bits) {
  const size_t digits = (bits + 3) / 4;
  std::vector<uint8_t> bytes((digits + 1) / 2);
  FillWithRandom(bytes);
  std::string text;
  for (const uint8_t byte : bytes) AppendHex(text, byte);
  text.resize(digits);
  return text;
}

}  // namespace bitsieve::server
