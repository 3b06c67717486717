// dashboard_files.h: the files of the dashboard, which are part of the binary. The source is written at build time by
// dashboard/embed.cmake. Thread-safe: constants.
#pragma once

#include <span>
#include <string_view>

namespace bitsieve::server {

struct DashboardFile {
  std::string_view path;  // of the URL
  std::string_view type;
  std::string_view content;
};

// None if the dashboard was left out of the build.
std::span<const DashboardFile> DashboardFiles();

}  // namespace bitsieve::server
