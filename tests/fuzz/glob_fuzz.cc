// core::GlobMatch agrees with the reference on every pattern and text. The first byte is how often the pattern's second
// half is repeated, the second one how often the text is, so that segments become longer than one word and texts longer
// than one block; then come the pattern, a NUL byte and the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/glob.h"
#include "tests/support/reference_glob.h"

namespace {

std::string Repeated(std::string_view text, size_t times, size_t most) {
  std::string repeated;
  for (size_t i = 0; i < times && repeated.size() + text.size() <= most; ++i) repeated += text;
  return repeated;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view given = bytes.substr(0, end);
  const size_t half = given.size() / 2;
  const std::string pattern = std::string(given.substr(0, half)) + Repeated(given.substr(half), 1 + data[0], 200);
  const std::string text = Repeated(bytes.substr(std::min(end + 1, bytes.size())), 1 + data[1] * 16, 4300);
  if (bitsieve::core::GlobMatch(pattern, text) != bitsieve::test::ReferenceGlob(pattern).Matches(text)) std::abort();
  if (!text.starts_with(bitsieve::core::GlobPrefix(pattern)) && bitsieve::core::GlobMatch(pattern, text)) std::abort();
  return 0;
}
