// Fields of a sketch as modules save them: refused, or a sketch that works and is saved again as it was read. The first
// byte chooses the kind, and the version.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/memory_budget.h"
#include "protocol/rdb/module_payload.h"
#include "protocol/rdb/rdb_reader.h"
#include "protocol/rdb/sketch_value.h"

namespace {

using namespace bitsieve;

template <class Sketch>
std::string Saved(const Sketch& sketch) {
  rdb::ModulePayload payload("CMSk-TYPE", 0);
  rdb::Write(sketch, payload);
  return std::move(payload).Finish();
}

// The fields of a payload, without what is around them.
std::string_view FieldsOf(std::string_view payload) {
  constexpr size_t kBefore = 10, kAfter = 10;
  return payload.substr(kBefore, payload.size() - kBefore - kAfter);
}

void Use(core::CountMin& sketch) {
  sketch.Increase("a", 3);
  if (sketch.Count("a") < 3) std::abort();
  const core::CountMin::Weighted twice[] = {{&sketch, 1}, {&sketch, 1}};
  (void)sketch.Merge(twice);
}

void Use(core::TopK& sketch) {
  if (sketch.shape().depth > 1000) return;
  (void)sketch.Add("a", 3);
  (void)sketch.Add("", 1);
  (void)sketch.Count("a");
  (void)sketch.List();
}

void Use(core::TDigest& digest) {
  (void)digest.Add(0.5);
  (void)digest.Quantile(0.5);
  (void)digest.Cdf(0.5);
  (void)digest.ByRank(1);
  (void)digest.ByReverseRank(1);
  (void)digest.Rank(0.5);
  (void)digest.TrimmedMean(0.1, 0.9);
  core::TDigest copy = digest;
  (void)digest.MergeFrom(copy);
}

template <class Read>
void Try(std::string_view bytes, const Read& read) {
  core::MemoryBudget memory(64 << 20);
  rdb::RdbReader reader(bytes, memory);
  rdb::RdbFields fields(reader);
  auto sketch = read(fields, memory);
  if (!sketch) return;
  const std::string saved = Saved(*sketch);
  rdb::RdbReader again(FieldsOf(saved), memory);
  rdb::RdbFields saved_fields(again);
  const auto reread = read(saved_fields, memory);
  if (!reread || Saved(*reread) != saved) std::abort();
  Use(*sketch);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr int kKinds = 3;
  switch (data[0] % kKinds) {
    case 0: {
      // A second version has one field more: what is saved is of the first.
      if (data[0] >= kKinds) {
        core::MemoryBudget memory(64 << 20);
        rdb::RdbReader reader(bytes, memory);
        rdb::RdbFields fields(reader);
        (void)rdb::ReadCountMin(fields, 1, memory);
        return 0;
      }
      Try(bytes, [](auto& fields, auto& memory) { return rdb::ReadCountMin(fields, 0, memory); });
      return 0;
    }
    case 1:
      Try(bytes, [](auto& fields, auto&) { return rdb::ReadTopK(fields, 0); });
      return 0;
    default:
      Try(bytes, [](auto& fields, auto&) { return rdb::ReadTDigest(fields, 0); });
      return 0;
  }
}
