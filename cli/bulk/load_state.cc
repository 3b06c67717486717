#include "cli/bulk/load_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace bitsieve::cli {
namespace {

using nlohmann::json;

// By which a file is known again.
json IdentityOf(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return {};
  return {{"bytes", status.st_size}, {"modified_s", status.st_mtim.tv_sec}, {"modified_ns", status.st_mtim.tv_nsec}};
}

}  // namespace

LoadCounts& LoadCounts::operator+=(const LoadCounts& other) {
  read += other.read;
  added += other.added;
  present += other.present;
  refused += other.refused;
  return *this;
}

std::string LoadStatePath(const std::string& file) { return file + ".bitsieve-load"; }

core::Outcome<std::optional<LoadState>> ReadLoadState(const std::string& file) {
  const std::string path = LoadStatePath(file);
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    if (errno == ENOENT) return std::nullopt;
    return tl::unexpected(path + ": " + std::system_category().message(errno));
  }
  const json state = json::parse(std::string(std::istreambuf_iterator<char>(in), {}), nullptr, false);
  try {
    if (state.at("file") != IdentityOf(file)) {
      return tl::unexpected(file + ": has changed since it was loaded before; remove " + path + " to begin again");
    }
    const json& counts = state.at("counts");
    return LoadState{.key = state.at("key"),
                     .position = state.at("position"),
                     .records = state.at("records"),
                     .counts = {counts.at("read"), counts.at("added"), counts.at("present"), counts.at("refused")}};
  } catch (const json::exception&) {
    return tl::unexpected(path + ": has unexpected content; remove it to begin again");
  }
}

core::Outcome<void> WriteLoadState(const std::string& file, const LoadState& state) {
  const json written = {{"file", IdentityOf(file)},
                        {"key", state.key},
                        {"position", state.position},
                        {"records", state.records},
                        {"counts",
                         {{"read", state.counts.read},
                          {"added", state.counts.added},
                          {"present", state.counts.present},
                          {"refused", state.counts.refused}}}};
  const std::string path = LoadStatePath(file), fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << written.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  out.close();
  if (out && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  return tl::unexpected(path + ": cannot be written: " + std::system_category().message(errno));
}

void RemoveLoadState(const std::string& file) { std::remove(LoadStatePath(file).c_str()); }

}  // namespace bitsieve::cli
