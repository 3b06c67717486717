#include "server/persistence/recovery/recovery_damage.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {
namespace {

constexpr size_t kMaxProblemsShown = 1000;

std::string Count(uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::vector<std::string> ProblemsOf(const RecoveryDamage& damage) {
  std::vector<std::string> problems;
  for (const core::Error& error : damage.hopeless) problems.push_back(error.message);
  if (damage.manifest) problems.push_back(*damage.manifest);
  for (const DamagedFilter& filter : damage.filters) problems.push_back(filter.reason);
  problems.insert(problems.end(), damage.log.begin(), damage.log.end());
  return problems;
}

// "2 filter files and 1 record of packs".
std::string FilesText(const RecoveryDamage& damage) {
  const auto records = static_cast<uint64_t>(std::count_if(
      damage.filters.begin(), damage.filters.end(), [](const DamagedFilter& each) { return each.record.has_value(); }));
  const uint64_t files = damage.filters.size() - records;
  std::string text = files == 0 ? "" : Count(files, "filter file");
  if (records == 0) return text;
  return text + (files == 0 ? "" : " and ") + Count(records, "record") + " of packs";
}

std::string SummaryOf(const RecoveryDamage& damage) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (damage.manifest) add("the manifest is lost");
  if (!damage.filters.empty()) {
    add(FilesText(damage) + " damaged or missing, of " + Count(damage.filters_listed, "filter") +
        " in the snapshot and those in the log");
  }
  if (!damage.log.empty()) add("the log is damaged");
  if (!damage.hopeless.empty()) add(Count(damage.hopeless.size(), "file") + " cannot be loaded");
  return text;
}

std::string LossOfFilters(const RecoveryDamage& damage) {
  std::string text = "\n  on-corrupt-filter quarantine sets ";
  if (damage.manifest) {
    return text + "the manifest and all " + Count(damage.unnamed_filters, "filter file") + " aside and starts empty";
  }
  return text + FilesText(damage) + " aside and starts without " +
         (damage.filters.size() == 1 ? "its filter" : "their filters");
}

std::string LossOfLog(const RecoveryDamage& damage) {
  const std::string text = "\n  on-corrupt-log truncate ";
  if (damage.manifest) return text + "sets the log aside: without the manifest it cannot be applied";
  if (!damage.log_cut) return text + "starts with what is left of the log; the content of missing files is lost";
  return text + "ends the log at position " + std::to_string(damage.log_cut->position) + " and loses " +
         Count(damage.log_cut->lost_bytes, "byte") + " from there on (" +
         Count(damage.log_cut->lost_records, "readable record") + " among them)";
}

// No option helps against these.
std::string Advice(const core::Error& error) {
  if (error.code == core::ErrorCode::kUnsupported) return "; only a newer server can read files of a newer version";
  return error.code == core::ErrorCode::kOutOfMemory ? "; the filters need more memory than there is" : "";
}

}  // namespace

core::Status CheckDamage(const RecoveryDamage& damage, const std::string& directory, OnCorruptFilter on_corrupt_filter,
                         OnCorruptLog on_corrupt_log) {
  const bool filters_refuse = damage.loses_filters() && on_corrupt_filter == OnCorruptFilter::kRefuse;
  const bool log_refuses = damage.loses_log() && on_corrupt_log == OnCorruptLog::kRefuse;
  if (!filters_refuse && !log_refuses && damage.hopeless.empty()) return {};
  const std::vector<std::string> problems = ProblemsOf(damage);
  std::string text = directory + ": " + SummaryOf(damage) + ":";
  for (size_t i = 0; i < std::min(problems.size(), kMaxProblemsShown); ++i) text += "\n  " + problems[i];
  if (problems.size() > kMaxProblemsShown) {
    text += "\n  and " + std::to_string(problems.size() - kMaxProblemsShown) + " more";
  }
  text += "\nnothing was changed";
  if (!damage.hopeless.empty()) text += Advice(damage.hopeless.front());
  if (damage.loses_filters() || damage.loses_log()) {
    text += "; restore the files from a copy, or accept the loss for one start:";
  }
  if (damage.loses_filters()) text += LossOfFilters(damage);
  if (damage.loses_log()) text += LossOfLog(damage);
  return core::Fail(damage.hopeless.empty() ? core::ErrorCode::kCorrupt : damage.hopeless.front().code,
                    std::move(text));
}

}  // namespace bitsieve::server
