// configuration_file.h: the running server and the places that its configuration came from: SIGHUP reads them again,
// CONFIG REWRITE writes the file. Confined to the main thread; what it is given outlives it.
#pragma once

#include <functional>

#include "commands/command_settings.h"
#include "config/loader.h"
#include "core/base/result.h"
#include "server/options/run_time_options.h"

namespace bitsieve::server {

class ConfigurationFile {
 public:
  // Replaces option values as they are written by those that this machine can give.
  using Resolve = config::Options (*)(config::Options options);

  ConfigurationFile(config::Sources sources, Resolve resolve, RunTimeOptions& options,
                    commands::CommandSettings& settings)
      : sources_(std::move(sources)), resolve_(resolve), options_(options), settings_(settings) {}

  // Applies what was changed in file, environment and flags together since they were read last, and logs each change.
  // If anything is invalid nothing is applied, and each problem is logged.
  void Reload();
  // Writes what was set at run time into the file. kInvalidArgument if there is no file or the file is invalid, kIo if
  // it cannot be written; then it is what it was.
  core::Status Rewrite();

 private:
  void Refuse(const config::Problems& problems) const;
  void WarnOfOverridden(const RunTimeOptions::SetAtRunTime& written) const;

  const config::Sources sources_;
  const Resolve resolve_;
  RunTimeOptions& options_;
  commands::CommandSettings& settings_;
};

}  // namespace bitsieve::server
