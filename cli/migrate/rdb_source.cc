#include "cli/migrate/rdb_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "cli/migrate/dump_commands.h"
#include "core/base/glob.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

// Reads each filter in SizeOf, since the size of its content is not known before.
class RdbContent final : public ContentReader {
 public:
  using Read = std::function<core::Outcome<rdb::ModuleValue>(const FoundFilter&)>;

  explicit RdbContent(Read read) : read_(std::move(read)) {}

  uint64_t SizeOf(const FoundFilter& filter) override {
    ContentDigest& digest = known_[filter.place];
    const auto value = read_(filter);
    if (!value) digest.problem = value.error();
    if (value) digest = DigestOfFilter(*value->filter);
    if (value && value->was_freezing) digest.problem = "it was being frozen when the file was written";
    return digest.bytes;
  }
  void Begin(std::span<const FoundFilter* const> filters) override {
    digests_.clear();
    for (const FoundFilter* each : filters) {
      auto known = known_.extract(each->place);
      if (known.empty()) SizeOf(*each);
      digests_.push_back(known.empty() ? std::move(known_.extract(each->place).mapped()) : std::move(known.mapped()));
    }
  }
  core::Outcome<bool> Request() override { return false; }
  core::Outcome<void> Receive() override { return {}; }
  const ContentDigest& DigestOf(size_t place) const override { return digests_.at(place); }

 private:
  const Read read_;
  std::unordered_map<uint64_t, ContentDigest> known_;  // by place, until they are compared
  std::vector<ContentDigest> digests_;
};

std::string TypeName(const rdb::RdbKey& key) {
  static constexpr std::array<std::string_view, 26> kNames = {
      "string", "list", "set",    "zset", "hash", "zset", "module", "module", "",       "hash", "list", "set",  "zset",
      "hash",   "list", "stream", "hash", "zset", "list", "stream", "set",    "stream", "hash", "hash", "hash", "hash"};
  if (key.module) return key.module->id.name;
  return std::string(kNames.at(key.type));
}

// Returns the size of the machine's memory: the sizes that a file claims may not exceed it.
uint64_t MachineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

RdbSource::RdbSource(std::string path, std::string_view bytes)
    : path_(std::move(path)), bytes_(bytes), memory_(MachineMemory()) {}

RdbSource::~RdbSource() { munmap(const_cast<char*>(bytes_.data()), bytes_.size()); }

core::Outcome<std::unique_ptr<RdbSource>> RdbSource::Open(const std::string& path) {
  const auto failure = [&path](int error) {
    return tl::unexpected(path + ": " + std::system_category().message(error));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure(errno);
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const auto size = static_cast<size_t>(status.st_size);
  if (!known || !S_ISREG(status.st_mode) || size == 0) {
    ::close(descriptor);
    return tl::unexpected(path + ": not a regular file, or empty; give an RDB file, or the URL of a server");
  }
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (mapped == MAP_FAILED) return failure(error);
  ::madvise(mapped, size, MADV_SEQUENTIAL);
  return std::unique_ptr<RdbSource>(new RdbSource(path, {static_cast<const char*>(mapped), size}));
}

core::Outcome<OtherKeys> RdbSource::Find(std::string_view pattern, const Visit& visit) {
  auto file = rdb::RdbFile::Open(bytes_, memory_);
  if (!file) return tl::unexpected(path_ + ": " + file.error().message);
  const int64_t now_ms = core::SystemClock().WallMs();
  OtherKeys others;
  while (auto key = file->Next()) {
    if (!core::GlobMatch(pattern, key->name)) continue;
    const bool is_filter = key->module && key->module->is_filter();
    const bool is_sketch = key->module && !SketchNoun(key->module->id.name).empty();
    if (!is_filter && !is_sketch) {
      ++others.counts[TypeName(*key)];
    } else if (key->database != 0) {
      ++others.counts[(is_filter ? "filter of database " : "sketch of database ") + std::to_string(key->database)];
    } else if (key->expires_ms != 0 && key->expires_ms <= now_ms) {
      ++others.expired;
    } else if (is_sketch) {
      others.sketches.Add(key->module->id.name, key->name);
    } else {
      values_.push_back(*key->module);
      visit({.name = std::move(key->name),
             .bytes = key->module->fields.size(),
             .expires_ms = key->expires_ms,
             .is_cuckoo = key->module->id.name == core::kCuckooValueName,
             .place = values_.size() - 1});
    }
  }
  if (!file->failure().empty()) {
    return tl::unexpected(path_ + ": " + file->failure() + " of " + std::to_string(bytes_.size()));
  }
  return others;
}

core::Outcome<rdb::ModuleValue> RdbSource::Read(const FoundFilter& filter) {
  auto value = rdb::ReadFilter(values_.at(filter.place), memory_, clock_);
  if (!value) return tl::unexpected(value.error().message);
  return std::move(*value);
}

core::Outcome<std::vector<FilterSize>> RdbSource::Measure(std::span<const FoundFilter* const> filters) {
  std::vector<FilterSize> sizes;
  for (const FoundFilter* each : filters) {
    const auto read = Read(*each);
    sizes.push_back(read ? SizeOf(*read->filter, each->name) : FilterSize{.problem = read.error()});
  }
  return sizes;
}

core::Outcome<std::unique_ptr<FilterCommands>> RdbSource::Open(const FoundFilter& filter) {
  auto read = Read(filter);
  if (!read) return tl::unexpected(read.error());
  return std::make_unique<DumpCommands>(std::move(*read));
}

std::unique_ptr<ContentReader> RdbSource::Contents() {
  return std::make_unique<RdbContent>([this](const FoundFilter& filter) { return Read(filter); });
}

core::Outcome<std::optional<FilterShape>> RdbSource::ShapeOf(const FoundFilter& filter) {
  const auto read = Read(filter);
  if (!read) return tl::unexpected(read.error());
  const core::FilterParams params = read->filter->params();
  if (params.type != core::kRedisBloomType) return std::nullopt;
  return FilterShape{.error_rate = params.error_rate, .capacity = read->filter->Info().capacity};
}

}  // namespace bitsieve::cli
