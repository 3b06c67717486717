// captured_log.h: the lines that the server's log gets while a test runs. Lines may come from any thread; the object
// itself is for one thread.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace bitsieve::test {

class CapturedLog {
 public:
  CapturedLog() {
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    const auto logger = std::make_shared<spdlog::logger>("captured", sink);
    logger->set_level(spdlog::level::debug);
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  ~CapturedLog() { spdlog::set_default_logger(logger_before_); }

  // Returns the lines since the last call, each as "warning text", down to those of level debug.
  std::vector<std::string> TakeLines() {
    std::vector<std::string> lines;
    std::istringstream text(text_.str());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    text_.str("");
    return lines;
  }

 private:
  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  std::ostringstream text_;
};

}  // namespace bitsieve::test
