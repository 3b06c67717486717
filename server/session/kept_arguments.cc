#include "server/session/kept_arguments.h"

#include <cstring>
#include <utility>

namespace bitsieve::server {

using namespace commands;

namespace {

// Up to this many bytes are copied, not shared: sharing would keep the rest of the buffer, too.
constexpr size_t kCopiedBytes = 64 * 1024;
// Memory that a copy takes in addition to its bytes.
constexpr size_t kCopyOverhead = 48;

// Returns the bytes of the arguments; stops counting once they are more than `enough`.
size_t BytesOf(Arguments arguments, size_t enough) {
  size_t bytes = 0;
  for (size_t i = 0; i < arguments.size() && bytes <= enough; ++i) bytes += arguments[i].size();
  return bytes;
}

// Returns the arguments, moved if they are many. Fewer are copied, so that the batch keeps its memory.
std::vector<std::string_view> Take(Arguments& arguments, std::vector<std::string_view>* own) {
  const bool is_own = own != nullptr && own->data() == arguments.data();
  const Arguments taken = std::exchange(arguments, {});
  if (is_own && taken.size() >= KeptArguments::kMany) return std::exchange(*own, {});
  return {taken.begin(), taken.end()};
}

}  // namespace

KeptArguments::KeptArguments(Arguments& arguments, ArgumentBytes* bytes, std::vector<std::string_view>* own) {
  if (bytes != nullptr && BytesOf(arguments, kCopiedBytes) > kCopiedBytes) {
    owner_ = bytes->Share();
    bytes_ = owner_ == nullptr ? 0 : bytes->shared_bytes();
  }
  arguments_ = Take(arguments, own);
  if (owner_ == nullptr) CopyBytes(BytesOf(arguments_, SIZE_MAX));
}

void KeptArguments::CopyBytes(size_t size) {
  const std::shared_ptr<char[]> bytes = std::make_shared_for_overwrite<char[]>(size);
  char* to = bytes.get();
  for (std::string_view& argument : arguments_) {
    std::memcpy(to, argument.data(), argument.size());
    argument = {to, argument.size()};
    to += argument.size();
  }
  owner_ = bytes;
  bytes_ = size + kCopyOverhead;
}

}  // namespace bitsieve::server
