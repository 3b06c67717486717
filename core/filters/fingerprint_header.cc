#include "core/filters/fingerprint_header.h"

#include "core/base/bytes.h"
#include "core/filters/filter_header.h"
#include "core/filters/fingerprint_sizing.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxSlots = uint64_t{1} << 48;  // so that no product with their width overflows

tl::unexpected<Error> Corrupt(const std::string& what) { return Fail(ErrorCode::kCorrupt, "filter header: " + what); }

FingerprintRecord GetTable(ByteReader& in) {
  FingerprintRecord table{};
  table.shape.capacity = in.Get<uint64_t>();
  table.shape.error_rate = in.GetDouble();
  table.shape.slots = in.Get<uint64_t>();
  table.shape.signature_bits = in.Get<uint32_t>();
  table.items = in.Get<uint64_t>();
  table.taken = in.Get<uint64_t>();
  return table;
}

Status CheckTable(const FingerprintRecord& table, const std::string& which) {
  const FingerprintShape& shape = table.shape;
  if (shape.signature_bits < 1 || shape.signature_bits > kMaxSignatureBits) {
    return Corrupt("the signatures of " + which + " are not of 1 to 32 bits");
  }
  if (!(shape.error_rate > 0 && shape.error_rate < 1)) return Corrupt("the error rate of " + which + " is impossible");
  // One slot is always empty: else a lookup might never end.
  if (shape.slots > kMaxSlots || shape.capacity == 0 || shape.capacity >= shape.slots) {
    return Corrupt("the capacity or the slots of " + which + " are out of range");
  }
  if (table.items > shape.capacity || table.taken > table.items) return Corrupt(which + " holds more than it can");
  return {};
}

Result<FingerprintHeader> GetTables(ByteReader& in, FingerprintHeader header) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxFingerprintTables) return Corrupt("the number of tables is out of range");
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "table " + std::to_string(i);
    const FingerprintRecord table = GetTable(in);
    if (!in.ok()) return Corrupt("it ends within " + which);
    if (Status status = CheckTable(table, which); !status) return tl::unexpected(status.error());
    header.tables.push_back(table);
  }
  if (!in.AtEnd()) return Corrupt("bytes follow the last table");
  return header;
}

}  // namespace

std::string EncodeFingerprintHeader(const FingerprintHeader& header) {
  std::string bytes;
  BeginHeader(bytes, FilterKind::kFingerprint);
  PutParams(bytes, header.params);
  ByteWriter out(bytes);
  out.Put(static_cast<uint32_t>(header.tables.size()));
  for (const FingerprintRecord& table : header.tables) {
    out.Put(table.shape.capacity);
    out.Put(table.shape.error_rate);
    out.Put(table.shape.slots);
    out.Put(table.shape.signature_bits);
    out.Put(table.items);
    out.Put(table.taken);
  }
  SealHeader(bytes);
  return bytes;
}

Result<FingerprintHeader> DecodeFingerprintHeader(std::string_view fields) {
  ByteReader in(fields);
  FingerprintHeader header{GetParams(in, FilterKind::kFingerprint), {}};
  if (!in.ok()) return Corrupt("it is too short");
  if (Status status = Validate(header.params); !status) return Corrupt(status.error().message);
  return GetTables(in, std::move(header));
}

}  // namespace bitsieve::core
