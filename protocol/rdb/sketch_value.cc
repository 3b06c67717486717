#include "protocol/rdb/sketch_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/out_of_memory.h"

namespace bitsieve::rdb {

namespace {

using core::ErrorCode;
using core::Fail;

tl::unexpected<core::Error> Damaged(const char* what) { return Fail(ErrorCode::kCorrupt, what); }

tl::unexpected<core::Error> UnknownVersion(int version) {
  return Fail(ErrorCode::kUnsupported, "version " + std::to_string(version) + " of a sketch is not known");
}

// A shape that was read back and cannot be is damage, too.
template <class Made>
core::Result<Made> OrDamaged(core::Result<Made> made) {
  if (made || made.error().code != ErrorCode::kInvalidArgument) return made;
  return Fail(ErrorCode::kCorrupt, made.error().message);
}

// An entry of a Top-K's heap as RedisBloom saves it. The number lies where it saves an address, which nobody reads: of
// the first entry it is the number of draws, marked, since an address has no such upper bits.
constexpr size_t kEntryBytes = 24;
constexpr uint64_t kDrawsMark = uint64_t{0xB517} << 48;
constexpr uint64_t kDrawsMask = (uint64_t{1} << 48) - 1;

std::string EntryBytes(const core::TopK::Entry& entry, uint64_t number) {
  std::string bytes;
  core::ByteWriter out(bytes);
  out.Put(entry.fingerprint);
  out.Put(static_cast<uint32_t>(entry.item.size()));
  out.Put(number);
  out.Put(entry.count);
  out.Put(uint32_t{0});
  return bytes;
}

uint64_t NumberIn(std::string_view entry) {
  uint64_t number = 0;
  std::memcpy(&number, entry.data() + 8, sizeof number);
  return number;
}

core::TopK::Entry EntryIn(std::string_view bytes, std::string_view item) {
  core::TopK::Entry entry;
  std::memcpy(&entry.fingerprint, bytes.data(), sizeof entry.fingerprint);
  std::memcpy(&entry.count, bytes.data() + 16, sizeof entry.count);
  entry.item = item;
  return entry;
}

std::vector<core::TopK::Bucket> BucketsIn(std::string_view bytes) {
  std::vector<core::TopK::Bucket> buckets(bytes.size() / sizeof(core::TopK::Bucket));
  std::memcpy(buckets.data(), bytes.data(), bytes.size());
  return buckets;
}

// Reads the entries and, behind them, the item of each with a byte of 0 at its end.
core::Result<std::vector<core::TopK::Entry>> ReadHeap(ValueReader& fields, uint64_t count, uint64_t& draws) {
  const ValueBytes heap = fields.Bytes();
  if (fields.failed() || heap.bytes.size() / kEntryBytes != count || heap.bytes.size() % kEntryBytes != 0) {
    return Damaged("the heap of a Top-K does not fit its k");
  }
  const uint64_t number = NumberIn(heap.bytes);
  draws = (number & ~kDrawsMask) == kDrawsMark ? number & kDrawsMask : 0;
  std::vector<core::TopK::Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    const ValueBytes item = fields.Bytes();
    if (fields.failed() || item.bytes.empty()) return Damaged("an item of a Top-K is missing");
    entries.push_back(
        EntryIn(heap.bytes.substr(i * kEntryBytes, kEntryBytes), item.bytes.substr(0, item.bytes.size() - 1)));
  }
  return entries;
}

// Returns a weight or a number of nodes that is saved as a double or with a sign; -1 if it is none.
int64_t WholeNumber(double value) {
  return value >= 0 && value < 0x1p63 && value == std::floor(value) ? static_cast<int64_t>(value) : -1;
}

core::Result<std::vector<core::TDigest::Node>> ReadNodes(ValueReader& fields, uint64_t count) {
  std::vector<core::TDigest::Node> nodes;  // grows with what is there
  for (uint64_t i = 0; i < count && !fields.failed(); ++i) nodes.push_back({fields.Double(), 0});
  for (uint64_t i = 0; i < count && !fields.failed(); ++i) nodes[i].weight = WholeNumber(fields.Double());
  if (fields.failed()) return Damaged("nodes of a t-digest are missing");
  return nodes;
}

}  // namespace

core::Result<core::CountMin> ReadCountMin(ValueReader& fields, int version, core::MemoryBudget& budget) {
  if (version != 0 && version != 1) return UnknownVersion(version);
  const core::CountMinShape shape{fields.Unsigned(), fields.Unsigned()};
  const uint64_t total = fields.Unsigned();
  if (version == 1) {
    const uint64_t cell_bytes = fields.Unsigned();
    if (!fields.failed() && cell_bytes != sizeof(uint32_t)) {
      return Fail(ErrorCode::kUnsupported, "a Count-Min Sketch has counters of " + std::to_string(cell_bytes) +
                                               " bytes; those of 4 bytes are supported");
    }
  }
  const ValueBytes cells = fields.Bytes();
  if (fields.failed()) return Damaged("fields of a Count-Min Sketch are missing");
  return OrDamaged(core::CountMin::FromBytes(shape, total, std::as_bytes(std::span(cells.bytes)), budget));
}

core::Result<core::TopK> ReadTopK(ValueReader& fields, int version) {
  if (version != 0) return UnknownVersion(version);
  const uint64_t k = fields.Unsigned(), width = fields.Unsigned(), depth = fields.Unsigned();
  const double decay = fields.Double();
  const ValueBytes buckets = fields.Bytes();
  const bool fits = !fields.failed() && std::max({k, width, depth}) <= UINT32_MAX && width != 0 && depth != 0 &&
                    buckets.bytes.size() % sizeof(core::TopK::Bucket) == 0 &&
                    buckets.bytes.size() / sizeof(core::TopK::Bucket) == width * depth;
  if (!fits) return Damaged("the buckets of a Top-K do not fit its width and depth");
  return core::OrOutOfMemory([&]() -> core::Result<core::TopK> {
    core::TopK::State state{
        .shape = {static_cast<uint32_t>(k), static_cast<uint32_t>(width), static_cast<uint32_t>(depth), decay},
        .buckets = BucketsIn(buckets.bytes)};
    auto heap = ReadHeap(fields, k, state.draws);
    if (!heap) return tl::unexpected(std::move(heap).error());
    state.heap = std::move(*heap);
    return OrDamaged(core::TopK::FromState(std::move(state)));
  });
}

core::Result<core::TDigest> ReadTDigest(ValueReader& fields, int version) {
  if (version != 0) return UnknownVersion(version);
  core::TDigest::State state;
  state.compression = fields.Double();
  state.min = fields.Double();
  state.max = fields.Double();
  const uint64_t capacity = fields.Unsigned(), merged = fields.Unsigned(), unmerged = fields.Unsigned();
  state.compressions = fields.Unsigned();
  state.merged_weight = WholeNumber(fields.Double());
  state.unmerged_weight = WholeNumber(fields.Double());
  const auto empty = OrDamaged(core::TDigest::Make(state.compression));
  if (!empty) return empty;
  if (fields.failed() || capacity != empty->capacity() || merged > capacity || unmerged > 1) {
    return Damaged("the numbers of a t-digest contradict each other");
  }
  return core::OrOutOfMemory([&]() -> core::Result<core::TDigest> {
    auto nodes = ReadNodes(fields, merged);
    if (!nodes) return tl::unexpected(std::move(nodes).error());
    state.nodes = std::move(*nodes);
    state.merged_nodes = merged;
    // Older engines save a digest of one number without it.
    if (unmerged == 1) {
      if (merged != 0 || state.min != state.max) return Damaged("a node of a t-digest is missing");
      state.nodes.push_back({state.min, state.unmerged_weight});
    }
    return core::TDigest::FromState(std::move(state));
  });
}

void Write(const core::CountMin& sketch, ValueWriter& fields) {
  fields.Unsigned(sketch.shape().width);
  fields.Unsigned(sketch.shape().depth);
  fields.Unsigned(sketch.total());
  fields.Bytes({reinterpret_cast<const char*>(sketch.cells().data()), sketch.cells().size()});
}

void Write(const core::TopK& sketch, ValueWriter& fields) {
  const core::TopK::State& state = sketch.state();
  fields.Unsigned(state.shape.k);
  fields.Unsigned(state.shape.width);
  fields.Unsigned(state.shape.depth);
  fields.Double(state.shape.decay);
  fields.Bytes({reinterpret_cast<const char*>(state.buckets.data()), state.buckets.size() * sizeof(state.buckets[0])});
  std::string heap;
  for (const core::TopK::Entry& entry : state.heap) {
    heap += EntryBytes(entry, heap.empty() && state.draws != 0 ? kDrawsMark | (state.draws & kDrawsMask) : 0);
  }
  fields.Bytes(heap);
  for (const core::TopK::Entry& entry : state.heap) fields.Bytes(entry.item + '\0');
}

void Write(const core::TDigest& digest, ValueWriter& fields) {
  const core::TDigest::State& state = digest.state();
  fields.Double(state.compression);
  fields.Double(state.min);
  fields.Double(state.max);
  fields.Unsigned(digest.capacity());
  fields.Unsigned(state.merged_nodes);
  fields.Unsigned(digest.unmerged_nodes());
  fields.Unsigned(state.compressions);
  fields.Double(static_cast<double>(state.merged_weight));
  fields.Double(static_cast<double>(state.unmerged_weight));
  for (const core::TDigest::Node& node : state.nodes) fields.Double(node.mean);
  for (const core::TDigest::Node& node : state.nodes) fields.Double(static_cast<double>(node.weight));
}

}  // namespace bitsieve::rdb
