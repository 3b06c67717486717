#include "tests/simulation/child.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

#include "tests/simulation/client.h"

namespace bitsieve::simulation {
namespace {

// Real time after which a run counts as one that never ends.
constexpr unsigned kPatienceS = 300;

// The child writes here, until the end: a message, or figures.
constexpr int kReport = 3;

void WriteReport(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(kReport, bytes.data(), bytes.size());
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string ScriptIn(const std::string& directory) { return directory + "/script"; }

std::string ReadAll(int descriptor) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t size; (size = read(descriptor, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(size));
  }
  return bytes;
}

// Prints the log, or does not: the run is the same, with the same locks.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(bool prints) : prints_(prints) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!prints_) return;
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    (void)!write(STDOUT_FILENO, line.data(), line.size());
  }
  void flush_() override {}

  const bool prints_;
};

// Starts this program again: what a run finds in memory is then the same in each.
[[noreturn]] void Start(const std::string& directory, bool logs, int report) {
  dup2(report, kReport);
  execl("/proc/self/exe", "simulation", "--child", directory.c_str(), logs ? "--logs" : nullptr, nullptr);
  _exit(127);
}

}  // namespace

void FailRun(const std::string& message) {
  WriteReport(message);
  _exit(1);
}

void RunAsChild(const std::string& directory, bool logs) {
  alarm(kPatienceS);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<LogSink>(logs)));
  spdlog::set_level(spdlog::level::debug);
  std::ifstream file(ScriptIn(directory));
  std::ostringstream text;
  text << file.rdbuf();
  const std::optional<Script> script = FromText(text.str());
  if (!script) FailRun("the script is not understood");
  const RunFigures figures = RunScript(*script, directory);
  WriteReport({reinterpret_cast<const char*>(&figures), sizeof figures});
  _exit(0);
}

ChildOutcome RunInChild(const Script& script, bool logs) {
  char directory[] = "/tmp/bitsieve-simulation-XXXXXX";
  int ends[2];
  if (mkdtemp(directory) == nullptr || pipe2(ends, O_CLOEXEC) != 0) return {false, std::strerror(errno), {}};
  std::ofstream(ScriptIn(directory)) << ToText(script);
  const pid_t child = fork();
  if (child == 0) Start(directory, logs, ends[1]);
  close(ends[1]);
  ChildOutcome outcome{.ok = false, .message = ReadAll(ends[0]), .figures = {}};
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::remove_all(directory);
  if (WIFSIGNALED(status)) {
    const bool is_late = WTERMSIG(status) == SIGALRM;
    outcome.message =
        is_late ? "the run does not end" : std::string("the process died of ") + strsignal(WTERMSIG(status));
  } else if (WEXITSTATUS(status) == 0 && outcome.message.size() == sizeof outcome.figures) {
    outcome.ok = true;
    std::memcpy(&outcome.figures, outcome.message.data(), sizeof outcome.figures);
    outcome.message.clear();
  }
  return outcome;
}

}  // namespace bitsieve::simulation
