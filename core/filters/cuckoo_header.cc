#include "core/filters/cuckoo_header.h"

#include "core/base/bytes.h"
#include "core/filters/cuckoo_sizing.h"
#include "core/filters/filter_header.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const std::string& what) { return Fail(ErrorCode::kCorrupt, "filter header: " + what); }

CuckooRecord GetTable(ByteReader& in, uint32_t bucket_size) {
  CuckooRecord table{};
  table.shape.capacity = in.Get<uint64_t>();
  table.shape.error_rate = in.GetDouble();
  table.shape.buckets = in.Get<uint64_t>();
  table.shape.bucket_size = bucket_size;
  table.shape.fingerprint_bits = in.Get<uint32_t>();
  table.items = in.Get<uint64_t>();
  return table;
}

// What one table can have, whatever the others have.
Status CheckTable(const CuckooRecord& table, const std::string& which) {
  const CuckooShape& shape = table.shape;
  if (shape.buckets == 0 || shape.buckets > kMaxCuckooSlots / shape.bucket_size) {
    return Corrupt("the number of buckets of " + which + " is out of range");
  }
  if (shape.fingerprint_bits < 1 || shape.fingerprint_bits > kMaxFingerprintBits) {
    return Corrupt("the fingerprints of " + which + " are not of 1 to 32 bits");
  }
  if (!(shape.error_rate > 0 && shape.error_rate < 1)) return Corrupt("the error rate of " + which + " is impossible");
  if (shape.capacity == 0 || shape.capacity > shape.Slots()) {
    return Corrupt("the capacity of " + which + " is out of range");
  }
  if (table.items > shape.capacity) return Corrupt(which + " holds more than it can");
  return {};
}

Status CheckNesting(const CuckooShape& older, const CuckooShape& newer, const std::string& which) {
  if (newer.buckets % older.buckets != 0)
    return Corrupt("the buckets of " + which + " are no multiple of the older ones");
  if (newer.fingerprint_bits < older.fingerprint_bits) {
    return Corrupt("the fingerprints of " + which + " are narrower than the older ones");
  }
  return {};
}

Result<CuckooHeader> GetTables(ByteReader& in, CuckooHeader header) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxCuckooTables) return Corrupt("the number of tables is out of range");
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "table " + std::to_string(i);
    const CuckooRecord table = GetTable(in, header.params.bucket_size);
    if (!in.ok()) return Corrupt("it ends within " + which);
    if (Status status = CheckTable(table, which); !status) return tl::unexpected(status.error());
    if (i > 0) {
      const Status nested = CheckNesting(header.tables.back().shape, table.shape, which);
      if (!nested) return tl::unexpected(nested.error());
    }
    header.tables.push_back(table);
  }
  if (!in.AtEnd()) return Corrupt("bytes follow the last table");
  return header;
}

}  // namespace

std::string EncodeCuckooHeader(const CuckooHeader& header) {
  std::string bytes;
  BeginHeader(bytes, FilterKind::kCuckoo);
  PutParams(bytes, header.params);
  ByteWriter out(bytes);
  out.Put(header.params.bucket_size);
  out.Put(header.params.max_iterations);
  out.Put(static_cast<uint32_t>(header.tables.size()));
  for (const CuckooRecord& table : header.tables) {
    out.Put(table.shape.capacity);
    out.Put(table.shape.error_rate);
    out.Put(table.shape.buckets);
    out.Put(table.shape.fingerprint_bits);
    out.Put(table.items);
  }
  SealHeader(bytes);
  return bytes;
}

Result<CuckooHeader> DecodeCuckooHeader(std::string_view fields) {
  ByteReader in(fields);
  CuckooHeader header{GetParams(in, FilterKind::kCuckoo), {}};
  header.params.bucket_size = in.Get<uint32_t>();
  header.params.max_iterations = in.Get<uint32_t>();
  if (!in.ok()) return Corrupt("it is too short");
  if (Status status = Validate(header.params); !status) return Corrupt(status.error().message);
  return GetTables(in, std::move(header));
}

}  // namespace bitsieve::core
