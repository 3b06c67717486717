// simulated_server.h: one life of a server, from its start to its crash or its stop: all that the server is made of
// except for what the process has once (signals, the log file, the admin port), wired in the same way. Confined to the
// thread that makes it; clients connect to its Unix socket from any thread of the simulation.
#pragma once

#include <memory>
#include <string>

#include "config/options.h"
#include "core/base/result.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::simulation {

class SimulatedServer {
 public:
  // `disk` outlives it.
  SimulatedServer(server::Disk& disk, const config::Options& options);
  ~SimulatedServer();

  // Loads what the disk holds and listens on the path. An error refuses the start.
  core::Status Start(const std::string& socket_path);
  // Filters may take this much memory from now on, if the server has started.
  void SetMemoryLimit(uint64_t bytes);
  // Ends it: in order, with a last snapshot if `final_save`, or, since the disk has crashed, in any way.
  core::Status Stop(bool final_save);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace bitsieve::simulation
