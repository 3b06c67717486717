#include "server/process/logging.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_writer.h"

namespace bitsieve::server {
namespace {

using Buffer = spdlog::memory_buf_t;

// Milliseconds, since the order of events within a second is what one reads a log for.
// Without allocating: what is logged may be that there is no memory.
void AppendTimestamp(spdlog::log_clock::time_point time, Buffer& out) {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                 fmt::gmtime(static_cast<std::time_t>(seconds.count())), (since_epoch - seconds).count());
}

std::string_view View(spdlog::string_view_t text) { return {text.data(), text.size()}; }

void AppendTextLine(const spdlog::details::log_msg& message, Buffer& out) {
  AppendTimestamp(message.time, out);
  fmt::format_to(std::back_inserter(out), " {} ", View(spdlog::level::to_string_view(message.level)));
  for (const char c : View(message.payload)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('\n');
}

void AppendJsonLine(const spdlog::details::log_msg& message, Buffer& out) {
  fmt::format_to(std::back_inserter(out), R"({{"time":")");
  AppendTimestamp(message.time, out);
  fmt::format_to(std::back_inserter(out), R"(","level":"{}","message":)",
                 View(spdlog::level::to_string_view(message.level)));
  core::AppendJsonString(View(message.payload), out);
  fmt::format_to(std::back_inserter(out), "}}\n");
}

class LineFormatter : public spdlog::formatter {
 public:
  using AppendLine = void (*)(const spdlog::details::log_msg& message, Buffer& out);

  explicit LineFormatter(AppendLine append) : append_(append) {}
  void format(const spdlog::details::log_msg& message, Buffer& out) override { append_(message, out); }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(append_); }

 private:
  const AppendLine append_;
};

LineFormatter::AppendLine g_append_line = AppendTextLine;  // set once, before other threads log
// The sink of the one logger; holds the sink of the file, which can be replaced while other threads log.
std::shared_ptr<spdlog::sinks::dist_sink_mt> g_sinks;

// Throws spdlog_ex if the file cannot be opened.
spdlog::sink_ptr MakeSink(const std::string& file) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  }
  sink->set_formatter(std::make_unique<LineFormatter>(g_append_line));
  return sink;
}

}  // namespace

core::Status SetUpLogging(const config::Options& options) {
  try {
    g_append_line = options.logformat == "json" ? AppendJsonLine : AppendTextLine;
    auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>(std::vector{MakeSink(options.logfile)});
    auto logger = std::make_shared<spdlog::logger>("bitsieve", sinks);
    g_sinks = std::move(sinks);
    logger->flush_on(spdlog::level::trace);  // a line that explains a crash must not be lost in it
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& error) {
    return core::Fail(core::ErrorCode::kIo, "cannot write the log file: " + std::string(error.what()));
  }
  SetLogLevel(options.loglevel);
  return {};
}

void ReopenLog(const std::string& logfile) {
  if (logfile.empty() || g_sinks == nullptr) return;
  try {
    g_sinks->set_sinks({MakeSink(logfile)});
    spdlog::info("Reopened the log file");
  } catch (const spdlog::spdlog_ex& error) {
    spdlog::error("The log file cannot be reopened; still logging to the old file: {}", error.what());
  }
}

void SetLogLevel(std::string_view level) { spdlog::set_level(spdlog::level::from_str(std::string(level))); }

}  // namespace bitsieve::server
