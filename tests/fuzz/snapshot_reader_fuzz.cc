// Whatever bytes lie on the disk, reading them ends with a value or an error: no crash, no hang, no memory beyond the
// budget; and what was accepted means the same when it is written and read again.
//
// The first byte chooses what the rest is. Checksums would keep a fuzzer out of everything they protect. So most modes
// take the input as the protected content, and put correct checksums around it, as an attacker would:
//   0  a manifest file as it is            2  the payload of a manifest
//   1  a filter file as it is              3  the payload of a filter file
//   6  a pack as it is                     7  the records of a pack: lengths of 2 bytes, each with so many bytes
//   8  the only pack of a directory that a server starts from, with quarantine, as 7
//   4  the payload of the only filter file of a directory that a server starts from, with quarantine
//   5  the payload of the manifest of such a directory, with one good filter file
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/disk/pack.h"
#include "server/persistence/recovery/recovery.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {
namespace {

constexpr uint64_t kBudgetBytes = 256 << 10;
constexpr uint32_t kChunkBytes = 64;
constexpr char kManifestPath[] = "/d/MANIFEST";
constexpr char kFilterPath[] = "/d/filters/1.filter";

void Require(bool holds) {
  if (!holds) std::abort();
}

// The shell of a checked file around any payload.
FileSeal PutSealed(MemoryDisk& disk, const std::string& path, const FileFormat& format, std::string_view payload) {
  ChunkBuffer buffer;
  auto writer = CheckedFileWriter::Create(disk, path, format, payload.size(), kChunkBytes, buffer);
  Require(writer && writer->Append(payload));
  return writer->Finish().value();
}

// The image header within a filter file's payload ends with a checksum of its own: put the right one there.
std::string WithImageChecksum(std::string_view input) {
  std::string payload(input);
  core::ByteReader reader(payload);
  const auto name_bytes = reader.Get<uint32_t>();
  const auto header_bytes = reader.Get<uint32_t>();
  reader.GetBytes(name_bytes);
  const std::string_view header = reader.GetBytes(header_bytes);
  if (!reader.ok() || header.size() < sizeof(uint64_t)) return payload;
  const uint64_t checksum = core::Checksum(header.substr(0, header.size() - sizeof checksum));
  const size_t end = 2 * sizeof(uint32_t) + name_bytes + header.size();
  std::memcpy(payload.data() + end - sizeof checksum, &checksum, sizeof checksum);
  return payload;
}

std::string ImageOf(const core::Filter& filter) {
  const std::unique_ptr<core::FilterImage> image = filter.Capture();
  std::string bytes = image->header();
  const size_t header_bytes = bytes.size();
  bytes.resize(header_bytes + image->body_bytes());
  if (!image->Read(0, std::as_writable_bytes(std::span(bytes)).subspan(header_bytes))) std::abort();
  return bytes;
}

void TryManifest(MemoryDisk& disk) {
  ChunkBuffer buffer;
  const core::Result<Manifest> manifest = ReadManifest(disk, kManifestPath, buffer);
  if (!manifest) return;
  Require(WriteManifest(disk, kManifestPath, *manifest, buffer).has_value());
  Require(ReadManifest(disk, kManifestPath, buffer).value() == *manifest);
}

void TryFilter(MemoryDisk& disk, const FileSeal& seal) {
  core::MemoryBudget memory(kBudgetBytes);
  ChunkBuffer buffer;
  {
    const auto filter = ReadFilterFile(disk, kFilterPath, seal, memory, core::SystemClock(), buffer);
    if (filter) {
      Require(memory.used_bytes() <= kBudgetBytes);
      const core::KeyHash hash = (*filter)->HashOf("item");
      core::AddOutcome outcome;
      uint8_t present = 0;
      (*filter)->Add(std::span(&hash, 1), std::span(&outcome, 1));
      (*filter)->MayContain(std::span(&hash, 1), std::span(&present, 1));
      // A full window refuses what it knows, too, if it cannot count its time from now on; and so does a full filter
      // that stores every addition.
      const core::FilterType kind = (*filter)->params().type;
      const bool refuses_known =
          outcome == core::AddOutcome::kWindowFull || kind == core::kCuckooType || kind == core::kRedisCuckooType;
      Require(present == !core::IsRefused(outcome) || (present == 1 && refuses_known));
      const auto again = WriteFilterFile(disk, kFilterPath, "again", *(*filter)->Capture(), kChunkBytes, buffer);
      core::MemoryBudget other;
      const auto copy = ReadFilterFile(disk, kFilterPath, again.value(), other, core::SystemClock(), buffer);
      Require(copy && ImageOf(**copy) == ImageOf(**filter));
    }
  }
  Require(memory.used_bytes() == 0);
}

// With quarantine, only a newer format and a lack of memory refuse a start; and what it accepted once, it accepts
// again.
void TryStart(MemoryDisk& disk) {
  for (int start = 0; start < 2; ++start) {
    core::FilterClock filter_clock;
    core::MemoryBudget memory(kBudgetBytes);
    Quotas quotas(memory);
    Registry registry(quotas, core::SystemClock(), filter_clock);
    auto directory = DataDirectory::Open(disk, "/d");
    Require(directory.has_value());
    const auto recovery = Recover(
        **directory, registry, filter_clock,
        {.on_corrupt_filter = OnCorruptFilter::kQuarantine, .on_corrupt_log = OnCorruptLog::kTruncate, .threads = 1});
    if (!recovery) {
      const core::ErrorCode code = recovery.error().code;
      Require(code == core::ErrorCode::kUnsupported || code == core::ErrorCode::kOutOfMemory);
      return;
    }
    Require(registry.Size() == recovery->report.filters_loaded);
    Require(start == 0 || recovery->report.quarantined.empty());
  }
}

void PutGoodFilter(MemoryDisk& disk) {
  core::MemoryBudget memory;
  core::FilterParams params;
  params.seed = 7;
  ChunkBuffer buffer;
  Require(WriteFilterFile(disk, kFilterPath, "good",
                          *(*core::MakeFilter(params, memory, core::SystemClock()))->Capture(), kChunkBytes, buffer)
              .has_value());
}

void StartFromFilter(MemoryDisk& disk, std::string_view payload) {
  Manifest manifest;
  manifest.next_file_id = 2;
  manifest.filters.push_back({"name", 1, PutSealed(disk, kFilterPath, kFilterFileFormat, payload)});
  ChunkBuffer buffer;
  Require(WriteManifest(disk, kManifestPath, manifest, buffer).has_value());
  TryStart(disk);
}

// A pack with a head and a table that fit the records, whatever those are.
FileSeal PutPack(MemoryDisk& disk, std::string_view input, uint32_t& records) {
  std::string table, bytes;
  core::ByteWriter lines(table);
  core::ByteReader reader(input);
  for (records = 0; reader.remaining() > sizeof(uint16_t); ++records) {
    const auto length = reader.Get<uint16_t>();
    const std::string_view record = reader.GetBytes(std::min<size_t>(length, reader.remaining()));
    lines.Put(static_cast<uint32_t>(record.size()));
    lines.Put(core::Checksum(record));
    bytes += record;
  }
  std::string file;
  core::ByteWriter writer(file);
  writer.PutBytes(kPackFormat.magic);
  writer.Put(kPackFormat.version);
  writer.Put(records);
  writer.Put(static_cast<uint64_t>(bytes.size()));
  writer.Put(core::Checksum(file));
  writer.PutBytes(table);
  const uint64_t checksum = core::Checksum(file);
  writer.Put(checksum);
  writer.PutBytes(bytes);
  disk.Put(kFilterPath, file);
  return {file.size(), checksum};
}

void TryPack(const MemoryDisk& disk, const FileSeal& seal) {
  ChunkBuffer buffer;
  const core::Result<Pack> pack = Pack::Read(disk, kFilterPath, seal, buffer);
  if (!pack) return;
  PackBuilder builder;
  core::MemoryBudget memory(kBudgetBytes);
  for (uint32_t i = 0; i < pack->records(); ++i) {
    const core::Result<PackedFilter> packed = pack->Record(i);
    if (!packed) continue;
    const auto filter = core::DecodeFilter(packed->header, core::AsBytes(packed->body), memory, core::SystemClock());
    if (filter && packed->name.size() <= UINT16_MAX / 2) {
      Require(builder.Add(*packed, *(*filter)->Capture()).has_value());
    }
  }
  MemoryDisk other;
  Require(other.CreateDirectory("/d/filters").has_value());
  const FileSeal again = builder.Write(other, kFilterPath).value();
  Require(Pack::Read(other, kFilterPath, again, buffer).has_value());
}

void StartFromPack(MemoryDisk& disk, std::string_view input) {
  uint32_t records = 0;
  Manifest manifest;
  manifest.next_file_id = 2;
  manifest.next_filter_id = 1000;
  const FileSeal seal = PutPack(disk, input, records);
  manifest.packs.push_back({1, seal, std::vector<bool>(records, true)});
  ChunkBuffer buffer;
  Require(WriteManifest(disk, kManifestPath, manifest, buffer).has_value());
  TryStart(disk);
}

FileSeal SealAtEnd(std::string_view input, size_t checksum_end) {
  FileSeal seal{input.size(), 0};
  if (checksum_end >= sizeof seal.checksum && checksum_end <= input.size()) {
    std::memcpy(&seal.checksum, input.data() + checksum_end - sizeof seal.checksum, sizeof seal.checksum);
  }
  return seal;
}

// The table's checksum: where the number of records says that it is.
FileSeal SealOfPack(std::string_view input) {
  core::ByteReader reader(input);
  reader.GetBytes(12);
  return SealAtEnd(input, 40 + size_t{12} * reader.Get<uint32_t>());
}

void Try(uint8_t way, std::string_view input) {
  MemoryDisk disk;
  Require(disk.CreateDirectory("/d") && disk.CreateDirectory("/d/filters"));
  switch (way % 9) {
    case 0:
      disk.Put(kManifestPath, std::string(input));
      return TryManifest(disk);
    case 1:
      disk.Put(kFilterPath, std::string(input));
      return TryFilter(disk, SealAtEnd(input, input.size()));
    case 2:
      PutSealed(disk, kManifestPath, kManifestFormat, input);
      return TryManifest(disk);
    case 3:
      return TryFilter(disk, PutSealed(disk, kFilterPath, kFilterFileFormat, WithImageChecksum(input)));
    case 4:
      return StartFromFilter(disk, WithImageChecksum(input));
    case 6:
      disk.Put(kFilterPath, std::string(input));
      return TryPack(disk, SealOfPack(input));
    case 7: {
      uint32_t records = 0;
      return TryPack(disk, PutPack(disk, input, records));
    }
    case 8:
      return StartFromPack(disk, input);
    default:
      PutGoodFilter(disk);
      PutSealed(disk, kManifestPath, kManifestFormat, input);
      return TryStart(disk);
  }
}

}  // namespace
}  // namespace bitsieve::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  bitsieve::server::Try(data[0], std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
