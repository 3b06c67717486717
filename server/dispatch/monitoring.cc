#include "server/dispatch/monitoring.h"

#include <chrono>
#include <cstdio>
#include <new>
#include <string_view>
#include <utility>

#include "core/base/quote.h"
#include "server/session/session.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using std::chrono::system_clock;

constexpr ShownLimits kOfSlowLog{32, 128};
constexpr ShownLimits kOfMonitors{128, 1024};

std::string Cut(std::string_view argument, size_t bytes) {
  if (argument.size() <= bytes) return std::string(argument);
  return std::string(argument.substr(0, bytes)) + "... (" + std::to_string(argument.size() - bytes) + " more bytes)";
}

// "SELECT 0" as `"SELECT" "0"`, escaped as Redis does.
void AppendQuoted(std::string& line, std::string_view argument) {
  constexpr std::string_view kNamed = "\n\r\t\a\b\\\"", kLetters = "nrtab\\\"";
  line += " \"";
  for (const char c : argument) {
    if (const size_t at = kNamed.find(c); at != std::string_view::npos) {
      line.append("\\").append(1, kLetters[at]);
    } else if (core::IsPrintable(c)) {
      line += c;
    } else {
      line += core::HexEscaped(c);
    }
  }
  line += '"';
}

int64_t UnixSeconds() { return system_clock::to_time_t(system_clock::now()); }

std::string UnixMicroseconds() {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(system_clock::now().time_since_epoch()).count();
  char text[48];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us % 1'000'000));
  return text;
}

template <class Work>
void UnlessOutOfMemory(Work&& work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace

std::vector<std::string> ShownArguments(const CommandRow& row, Arguments arguments, const ShownLimits& limits,
                                        uint64_t further) {
  const size_t words = row.name.find('|') == std::string_view::npos ? 1 : 2;
  const bool is_secret = (row.flags & kSecret) != 0 && arguments.size() > words;
  const bool is_cut = !is_secret && arguments.size() > limits.arguments;
  std::vector<std::string> shown;
  const size_t first = is_secret ? words : is_cut ? limits.arguments - 1 : arguments.size();
  for (const std::string_view argument : arguments.first(first)) shown.push_back(Cut(argument, limits.bytes));
  if (is_secret) shown.emplace_back("(redacted)");
  if (is_cut) shown.push_back("... (" + std::to_string(arguments.size() - first) + " more arguments)");
  if (further != 0) shown.push_back("... (" + std::to_string(further) + " more commands in the same time)");
  return shown;
}

void Monitoring::RecordSlow(const CommandRow& row, Arguments arguments, uint64_t further, const ClientRecord& client,
                            uint64_t ns) noexcept {
  if (row.flags & kSkipMonitor) return;
  const int64_t slow_us = slower_than_us(), now_s = UnixSeconds();
  UnlessOutOfMemory([&] {
    latency.Record(row.flags & kFast ? LatencyEvent::kFastCommand : LatencyEvent::kCommand, now_s, ns / 1'000'000);
    if (slow_us < 0 || ns < static_cast<uint64_t>(slow_us) * 1000) return;
    slow_log.Add({.unix_s = now_s,
                  .us = ns / 1000,
                  .arguments = ShownArguments(row, arguments, kOfSlowLog, further),
                  .client_address = client.address,
                  .client_name = client.name()});
  });
}

void Monitoring::RecordLongRound(int64_t ns) noexcept {
  UnlessOutOfMemory(
      [&] { latency.Record(LatencyEvent::kEventLoop, UnixSeconds(), static_cast<uint64_t>(ns) / 1'000'000); });
}

void Monitoring::Show(const CommandRow& row, Arguments arguments, const ClientRecord& client) noexcept {
  UnlessOutOfMemory([&] {
    std::string line = UnixMicroseconds() + " [0 " + client.address + "]";
    for (const std::string& argument : ShownArguments(row, arguments, kOfMonitors)) AppendQuoted(line, argument);
    feed.Publish(std::move(line));
  });
}

std::string Monitoring::SlowSummary() {
  const SlowLog::Summary summary = slow_log.TakeSummary();
  if (summary.commands == 0 || TimesEach()) return "";
  return std::to_string(summary.commands) +
         " commands took longer than slowlog-log-slower-than, the slowest of them, " + core::Quoted(summary.slowest) +
         ", " + std::to_string(summary.slowest_us / 1000) + " ms: SLOWLOG GET shows them";
}

}  // namespace bitsieve::server
