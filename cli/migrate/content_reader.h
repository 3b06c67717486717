// content_reader.h: digests of the content of filters on one side of a move. The content is read in steps, so that
// both sides work at the same time, and a chunk is dropped once it is in the digest. Confined to one thread. Errors are
// for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/server_client.h"
#include "core/base/checksum.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::cli {

struct FoundFilter;

// Filters up to this size are read many at a time.
inline constexpr uint64_t kMaxSmallContentBytes = 64 << 10;

// A digest stands for the type of a filter and for its chunks end to end.
struct ContentDigest {
  std::string type = {};
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  bool is_missing = false;   // there is no such filter
  std::string problem = {};  // why it cannot be read; empty if it can
};

// Returns the digest that ServerContent has of a filter with the same content.
ContentDigest DigestOfFilter(const core::Filter& filter);

// Returns the filter type in a reply to BF.INFO TYPE; nothing if the server does not know that field.
std::optional<std::string> TypeIn(const Reply& reply);

// Reads filters that a source found. After Begin, Request and Receive alternate until there is nothing to request.
class ContentReader {
 public:
  virtual ~ContentReader() = default;
  // Returns about how many bytes the content has.
  virtual uint64_t SizeOf(const FoundFilter& filter) = 0;
  // Begins to read these filters, which outlive the reading, and forgets the earlier ones.
  virtual void Begin(std::span<const FoundFilter* const> filters) = 0;
  // Requests the next chunk of each filter. Returns whether there was anything to request.
  virtual core::Outcome<bool> Request() = 0;
  // Receives what was requested.
  virtual core::Outcome<void> Receive() = 0;
  // Returns the digest of the filter at this place among those of Begin. It is complete once there is nothing to
  // request; before that, its bytes are those received so far.
  virtual const ContentDigest& DigestOf(size_t place) const = 0;
};

// Reads from a running server: Redis with RedisBloom, Valkey with valkey-bloom, Valkey or Redis with bitsieve.so, or
// Bitsieve. valkey-bloom has no chunks: a filter of it is read whole.
class ServerContent final : public ContentReader {
 public:
  // The client outlives it, and is not used for anything else until the last reply was received.
  explicit ServerContent(ServerClient& client) : client_(client) {}

  uint64_t SizeOf(const FoundFilter& filter) override;
  void Begin(std::span<const FoundFilter* const> filters) override;
  core::Outcome<bool> Request() override;
  core::Outcome<void> Receive() override;
  const ContentDigest& DigestOf(size_t place) const override { return entries_.at(place).digest; }

 private:
  enum class Step : uint8_t { kType, kWhole, kEngineDump, kChunks, kDone };
  struct Entry {
    const FoundFilter* filter;
    Step step;
    std::string cursor = "0";
    ContentDigest digest = {};
    core::RunningChecksum checksum = {};
  };

  static void Take(Entry& entry, const Reply& reply);
  static void TakeType(Entry& entry, const Reply& reply);
  static void TakeEngineDump(Entry& entry, const Reply& reply);
  static void TakeError(Entry& entry, const std::string& error);
  static void TakeBytes(Entry& entry, std::string_view bytes);
  static void End(Entry& entry);

  ServerClient& client_;
  std::vector<Entry> entries_;
};

}  // namespace bitsieve::cli
