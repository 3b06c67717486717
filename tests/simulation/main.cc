// simulation: runs of the server under a scheduler, one for each seed, until the time is over; or one script.
//
//   simulation --seed 1 --seconds 3600 --bundle DIR     seeds from 1 on; a script of each failure is left in DIR
//   simulation --seed 17 --runs 1                       that seed alone
//   simulation --seed 17 --print                        the script of that seed
//   simulation --script FILE                            a script that a failure left behind
//   simulation --reduce FILE                            makes a failing script shorter, and writes FILE.reduced
//
// The exit status is 1 if a run found a fault. The last line of the output has the figures, as JSON.
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/simulation/child.h"
#include "tests/simulation/reduce.h"
#include "tests/simulation/run.h"
#include "tests/simulation/script.h"

namespace bitsieve::simulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kReducingS = 120;  // without --seconds

// Addresses are the same in each run, since some code orders by them.
void FixAddresses(char** argv) {
  const int persona = personality(0xffffffff);
  if (persona == -1 || (persona & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE) == -1) return;
  execv("/proc/self/exe", argv);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Settings {
  uint64_t seed = 1;
  uint64_t runs = 0;
  double seconds = 0;
  std::string bundle = ".";
  std::string script;
  std::string reduce;
  std::string child;
  bool print = false;
  bool logs = false;
};

void WriteScript(const std::string& path, const Script& script, const std::string& message) {
  std::ofstream file(path);
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) file << "# " << line << "\n";
  file << ToText(script);
}

// Runs the seeds; returns the number of those that failed.
int RunSeeds(const Settings& settings) {
  const auto began = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  RunFigures all;
  uint64_t seeds = 0;
  std::vector<uint64_t> failed;
  for (uint64_t seed = settings.seed; settings.runs != 0 ? seeds < settings.runs : elapsed() < settings.seconds;
       ++seed) {
    const Script script = MakeScript(seed);
    const ChildOutcome outcome = RunInChild(script, settings.logs);
    ++seeds;
    all += outcome.figures;
    if (outcome.ok) continue;
    failed.push_back(seed);
    std::filesystem::create_directories(settings.bundle);
    const std::string path = settings.bundle + "/simulation-" + std::to_string(seed) + ".script";
    WriteScript(path, script, outcome.message);
    std::cout << "seed " << seed << " failed: " << outcome.message << "\n  kept in " << path << std::endl;
  }
  const nlohmann::json figures = {{"seeds", seeds},
                                  {"first_seed", settings.seed},
                                  {"failed_seeds", failed},
                                  {"commands", all.commands},
                                  {"lookups", all.lookups},
                                  {"without_memory", all.without_memory},
                                  {"crashes", all.crashes},
                                  {"stops", all.stops},
                                  {"thread_switches", all.switches},
                                  {"simulated_seconds", all.simulated_ms / 1000},
                                  {"seconds", elapsed()},
                                  {"digest", all.digest}};
  std::cout << figures.dump() << std::endl;
  return failed.empty() ? 0 : 1;
}

int RunOneScript(const std::string& path, bool logs) {
  const std::optional<Script> script = FromText(ReadFile(path));
  if (!script) return std::cerr << path << ": is not a script of the simulation\n", 2;
  const ChildOutcome outcome = RunInChild(*script, logs);
  std::cout << (outcome.ok ? "no fault" : outcome.message) << std::endl;
  return outcome.ok ? 0 : 1;
}

int ReduceScript(const std::string& path, double seconds) {
  const std::optional<Script> script = FromText(ReadFile(path));
  if (!script) return std::cerr << path << ": is not a script of the simulation\n", 2;
  const auto patience = std::chrono::seconds(seconds > 0 ? static_cast<int64_t>(seconds) : kReducingS);
  const Reduced reduced = Reduce(*script, patience);
  if (reduced.message.empty()) return std::cout << "no fault" << std::endl, 0;
  WriteScript(path + ".reduced", reduced.script, reduced.message);
  std::cout << reduced.message << "\n" << ToText(reduced.script);
  return 1;
}

int Main(int argc, char** argv) {
  FixAddresses(argv);
  CLI::App program("Runs of the server under a scheduler, each determined by a seed");
  Settings settings;
  program.add_option("--seed", settings.seed, "The first seed");
  program.add_option("--runs", settings.runs, "How many seeds are run");
  program.add_option("--seconds", settings.seconds, "For how long seeds are run, instead, or a script is made shorter");
  program.add_option("--bundle", settings.bundle, "The folder for the scripts of failures");
  program.add_option("--script", settings.script, "Runs this script");
  program.add_option("--reduce", settings.reduce, "Makes this script shorter");
  program.add_flag("--print", settings.print, "Prints the script of the first seed, and runs nothing");
  program.add_flag("--logs", settings.logs, "Prints the server's log");
  program.add_option("--child", settings.child, "")->group("");
  CLI11_PARSE(program, argc, argv);
  if (!settings.child.empty()) RunAsChild(settings.child, settings.logs);
  if (!settings.script.empty()) return RunOneScript(settings.script, settings.logs);
  if (!settings.reduce.empty()) return ReduceScript(settings.reduce, settings.seconds);
  if (settings.print) return std::cout << ToText(MakeScript(settings.seed)), 0;
  return RunSeeds(settings);
}

}  // namespace
}  // namespace bitsieve::simulation

int main(int argc, char** argv) { return bitsieve::simulation::Main(argc, argv); }
