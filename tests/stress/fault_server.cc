// The server on a disk that fails once, or from some step on, or at one of whose steps the process dies:
//
//   BITSIEVE_FAULT_STEP=7 BITSIEVE_FAULT_KIND=short-write fault_server serve --port 0 ...
//
// Options are those of `bitsieve serve`. SIGUSR1 mends the disk and logs how many steps there were.
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "config/flags.h"
#include "config/loader.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/server.h"
#include "tests/support/fault_disk.h"

namespace bitsieve::server {
namespace {

// A variable that the server does not get to see, which takes each for an option.
std::string TakeVariable(const char* name) {
  const char* const value = std::getenv(name);
  const std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

Fault TakeFault() {
  static const std::map<std::string, Fault::Kind> kKinds = {
      {"fail", Fault::Kind::kFail},
      {"fail-from-on", Fault::Kind::kFailFromOn},
      {"short-write", Fault::Kind::kShortWrite},
      {"kill-before", Fault::Kind::kKillBefore},
      {"kill-within", Fault::Kind::kKillWithin},
      {"kill-after", Fault::Kind::kKillAfter},
  };
  Fault fault;
  fault.step = std::strtoull(TakeVariable("BITSIEVE_FAULT_STEP").c_str(), nullptr, 10);
  fault.kind = kKinds.at(TakeVariable("BITSIEVE_FAULT_KIND"));
  return fault;
}

// Before there are further threads, which inherit that the signal is not for them.
void MendOnSignal(FaultDisk& disk) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([&disk, signals] {
    for (int signal; sigwait(&signals, &signal) == 0;) {
      // In one piece, since the server logs to the same place at the same time.
      std::cerr << "Mended after " + std::to_string(disk.steps()) + " steps\n";
      disk.SetFault({});
    }
  }).detach();
}

int Main(int argc, char** argv) {
  static PosixDisk system_disk;
  static FaultDisk disk(system_disk);  // static: the thread that mends it is never joined
  disk.SetFault(TakeFault());
  MendOnSignal(disk);

  CLI::App program("The server on a disk that fails as told");
  config::Flags flags;
  flags.AddTo(*program.add_subcommand("serve"));
  CLI11_PARSE(program, argc, argv);
  const config::Sources sources = flags.ToSources();
  const auto configuration = config::Load(sources);
  if (configuration) return RunServer(configuration->options, sources, disk);
  for (const std::string& problem : configuration.error()) std::cerr << problem << '\n';
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace bitsieve::server

int main(int argc, char** argv) { return bitsieve::server::Main(argc, argv); }
