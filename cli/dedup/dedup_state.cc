#include "cli/dedup/dedup_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/dedup/hash_table.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/filter/filter_dump.h"
#include "server/persistence/disk/checked_file.h"

namespace bitsieve::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kHeadBytes = 2 * sizeof(uint8_t) + sizeof(uint16_t) + 2 * sizeof(uint32_t) + 3 * sizeof(uint64_t);
constexpr uint64_t kMaxItems = SeenSet::kPartitions * core::kMaxCapacity;

std::string EncodeHead(const SeenParams& params, const std::string& progress) {
  std::string head;
  core::ByteWriter out(head);
  out.Put(static_cast<uint8_t>(params.exact));
  out.Put(uint8_t{0});
  out.Put(static_cast<uint16_t>(SeenSet::kPartitions));
  out.Put(params.ngram);
  out.Put(params.error_rate);
  out.Put(params.items);
  out.Put(params.seed);
  out.PutString(progress);
  return head;
}

class StateReader {
 public:
  StateReader(server::CheckedFileReader file, core::MemoryBudget& budget) : file_(std::move(file)), budget_(budget) {}

  core::Result<DedupState> Read() {
    auto progress = ReadHead();
    if (!progress) return tl::unexpected(progress.error());
    std::vector<std::unique_ptr<SeenPartition>> partitions;
    for (size_t i = 0; i < SeenSet::kPartitions; ++i) {
      auto partition = ReadPartition(i);
      if (!partition) return tl::unexpected(partition.error());
      partitions.push_back(std::move(*partition));
    }
    if (const auto seal = file_.Finish(); !seal) return tl::unexpected(seal.error());
    return DedupState{SeenSet(params_, std::move(partitions)), std::move(*progress)};
  }

  core::Result<DedupHead> ReadOnlyHead() {
    auto progress = ReadHead();
    if (!progress) return tl::unexpected(progress.error());
    return DedupHead{params_, std::move(*progress)};
  }

 private:
  core::Result<std::string> ReadBytes(uint64_t bytes) {
    if (bytes > file_.remaining()) return file_.Corrupt("a part is longer than the file");
    std::string text(bytes, '\0');
    if (auto read = file_.Read(std::as_writable_bytes(std::span(text))); !read) return tl::unexpected(read.error());
    return text;
  }

  core::Result<std::optional<DedupProgress>> ReadHead() {
    const auto head = ReadBytes(kHeadBytes);
    if (!head) return tl::unexpected(head.error());
    core::ByteReader in(*head);
    const auto exact = in.Get<uint8_t>();
    const auto reserved = in.Get<uint8_t>();
    const auto partitions = in.Get<uint16_t>();
    params_.ngram = in.Get<uint32_t>();
    params_.error_rate = in.GetDouble();
    params_.items = in.Get<uint64_t>();
    params_.seed = in.Get<uint64_t>();
    params_.exact = exact == 1;
    const bool is_possible = exact <= 1 && reserved == 0 && partitions == SeenSet::kPartitions && params_.items >= 1 &&
                             params_.items <= kMaxItems &&
                             (params_.exact || core::Validate(PartitionParams(params_)).has_value());
    if (!is_possible) return file_.Corrupt("its head is of no state that can be");
    const auto text = ReadBytes(in.Get<uint32_t>());
    if (!text) return tl::unexpected(text.error());
    if (text->empty()) return std::optional<DedupProgress>();
    auto progress = DecodeProgress(*text);
    if (!progress) return file_.Corrupt("the progress of its run cannot be read");
    return progress;
  }

  core::Result<std::unique_ptr<SeenPartition>> ReadPartition(size_t index) {
    const auto length = ReadBytes(sizeof(uint64_t));
    if (!length) return tl::unexpected(length.error());
    const auto bytes = ReadBytes(core::ByteReader(*length).Get<uint64_t>());
    if (!bytes) return tl::unexpected(bytes.error());
    return params_.exact ? ReadTable(*bytes, index) : ReadFilter(*bytes);
  }

  core::Result<std::unique_ptr<SeenPartition>> ReadFilter(const std::string& bytes) {
    auto filter = core::RestoreFilter(bytes, budget_, core::SystemClock());
    if (!filter && filter.error().code == core::ErrorCode::kCorrupt) return file_.Corrupt(filter.error().message);
    if (!filter) return tl::unexpected(filter.error());
    if ((*filter)->params() != PartitionParams(params_)) return file_.Corrupt("a filter is not that of its head");
    return MakeFilterPartition(std::move(*filter));
  }

  core::Result<std::unique_ptr<SeenPartition>> ReadTable(const std::string& bytes, size_t index) {
    if (bytes.size() % sizeof(core::KeyHash) != 0) return file_.Corrupt("a list of hashes ends within one");
    const uint64_t items = bytes.size() / sizeof(core::KeyHash);
    auto table = HashTable::Make(std::max(items, SeenSet::PartitionItems(params_.items)), budget_);
    if (!table) return tl::unexpected(table.error());
    core::ByteReader in(bytes);
    for (uint64_t i = 0; i < items; ++i) {
      core::KeyHash hash{};
      hash.low = in.Get<uint64_t>();
      hash.high = in.Get<uint64_t>();
      core::AddOutcome outcome = core::AddOutcome::kPresent;
      const auto added = (*table)->Add({&hash, 1}, {&outcome, 1});
      const bool is_possible = SeenSet::PartitionOf(hash) == index && outcome == core::AddOutcome::kAdded;
      if (!added || !is_possible) return file_.Corrupt("a hash is not where it belongs, or is there twice");
    }
    return std::move(*table);
  }

  server::CheckedFileReader file_;
  core::MemoryBudget& budget_;
  SeenParams params_;
};

core::Status WritePartitions(server::CheckedFileWriter& file, const SeenSet& seen) {
  for (size_t i = 0; i < SeenSet::kPartitions; ++i) {
    const SeenPartition& partition = seen.partition(i);
    std::string length;
    core::ByteWriter(length).Put(partition.encoded_bytes());
    if (auto written = file.Append(length); !written) return written;
    if (auto written = partition.Encode([&file](std::string_view bytes) { return file.Append(bytes); }); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace

DedupCounts& DedupCounts::operator+=(const DedupCounts& other) {
  records += other.records;
  kept += other.kept;
  bad += other.bad;
  bytes += other.bytes;
  kept_bytes += other.kept_bytes;
  return *this;
}

std::string EncodeProgress(const DedupProgress& progress) {
  json counts = json::array();
  for (const DedupCounts& each : progress.counts) {
    counts.push_back({each.records, each.kept, each.bad, each.bytes, each.kept_bytes});
  }
  const json written = {{"command", progress.command},
                        {"input", progress.position.input},
                        {"input_bytes", progress.position.bytes},
                        {"input_records", progress.position.records},
                        {"output_bytes", progress.output_bytes},
                        {"counts", counts},
                        {"complete", progress.is_complete}};
  return written.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<DedupProgress> DecodeProgress(const std::string& text) {
  const json read = json::parse(text, nullptr, false);
  DedupProgress progress;
  try {
    progress.command = read.at("command");
    progress.position = {read.at("input"), read.at("input_bytes"), read.at("input_records")};
    progress.output_bytes = read.at("output_bytes").get<std::vector<uint64_t>>();
    for (const json& each : read.at("counts")) {
      progress.counts.push_back({each.at(0), each.at(1), each.at(2), each.at(3), each.at(4)});
    }
    progress.is_complete = read.at("complete");
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return progress;
}

core::Status WriteDedupState(server::Disk& disk, const std::string& path, const SeenSet& seen,
                             const DedupProgress* progress) {
  const std::string head = EncodeHead(seen.params(), progress == nullptr ? "" : EncodeProgress(*progress));
  uint64_t bytes = head.size();
  for (size_t i = 0; i < SeenSet::kPartitions; ++i) bytes += sizeof(uint64_t) + seen.partition(i).encoded_bytes();
  const std::string unfinished = path + ".new";
  server::ChunkBuffer buffer;
  auto file =
      server::CheckedFileWriter::Create(disk, unfinished, kDedupStateFormat, bytes, server::kDefaultChunkBytes, buffer);
  if (!file) return tl::unexpected(file.error());
  core::Status written = file->Append(head);
  if (written) written = WritePartitions(*file, seen);
  if (written) {
    const auto seal = file->Finish();
    if (!seal) written = tl::unexpected(seal.error());
  }
  if (written) written = disk.Rename(unfinished, path);
  if (written) written = disk.SyncDirectory(server::ParentOf(path));
  if (!written) (void)disk.Remove(unfinished);
  return written;
}

core::Result<DedupHead> ReadDedupHead(const server::Disk& disk, const std::string& path) {
  server::ChunkBuffer buffer;
  core::MemoryBudget none;
  auto file = server::CheckedFileReader::Open(disk, path, kDedupStateFormat, buffer);
  if (!file) return tl::unexpected(file.error());
  return StateReader(std::move(*file), none).ReadOnlyHead();
}

core::Result<DedupState> ReadDedupState(const server::Disk& disk, const std::string& path, core::MemoryBudget& budget) {
  server::ChunkBuffer buffer;
  auto file = server::CheckedFileReader::Open(disk, path, kDedupStateFormat, buffer);
  if (!file) return tl::unexpected(file.error());
  return StateReader(std::move(*file), budget).Read();
}

}  // namespace bitsieve::cli
