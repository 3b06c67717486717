#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/bulk/input.h"
#include "cli/bulk/record_reader.h"
#include "cli/bulk/server_client.h"
#include "cli/client/connection_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "cli/plan/distinct_counter.h"
#include "cli/plan/fold_plan.h"
#include "cli/plan/plan_plot.h"
#include "cli/plan/plan_report.h"
#include "cli/plan/planner.h"
#include "config/flags.h"
#include "config/option_row.h"
#include "core/base/duration.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/base/result.h"
#include "core/filter/error_rates.h"

namespace bitsieve::cli {
namespace {

constexpr std::string_view kTerminal = "-";  // in place of a file to plot into

// The arguments as they were given; an empty text: it was not given.
struct PlanArguments {
  std::string items, error, memory, from, window, ttl, rate, type, plot, filter, fold;
  ConnectionFlags connection;  // of --filter and --fold
  config::Flags flags;
  bool removes = false;
  bool is_static = false;
  bool stays_fixed = false;
  bool json = false;
};

tl::unexpected<std::string> Wrong(const char* flag, const std::string& given, const std::string& right) {
  return tl::unexpected(std::string(flag) + ": " + core::Quoted(given) + " is not " + right);
}

core::Outcome<Sample> SampleOf(const std::string& file) {
  auto input = Input::Open(file, true);
  if (!input) return tl::unexpected("--from: " + input.error());
  RecordReader reader([&] { return input->Read(); }, RecordFormat{});
  const auto counter = std::make_unique<DistinctCounter>();
  while (true) {
    const auto record = reader.Next();
    if (!record) return tl::unexpected("--from: " + record.error());
    if (!*record) break;
    counter->Add((*record)->item);
  }
  if (reader.records() == 0) return tl::unexpected("--from: " + input->name() + " has no lines");
  return Sample{.file = input->name(),
                .lines = reader.records(),
                .distinct = counter->Estimate(),
                .upper_distinct = counter->UpperEstimate()};
}

// Returns the items that arrive at --rate within the time for which they are kept.
core::Outcome<uint64_t> ItemsAtRate(const PlanArguments& given, const Need& need) {
  const uint64_t time_ms = need.window ? need.window->duration_ms : need.ttl_ms;
  if (time_ms == 0) return tl::unexpected<std::string>("--rate needs --window or --ttl with a time such as 24h");
  const auto rate = ParseItemRate(given.rate);
  if (!rate) return Wrong("--rate", given.rate, "a rate such as 5000/s, 300k/m, 1e6/h or 2m/d");
  const double items = std::ceil(*rate * static_cast<double>(time_ms) / 1000);
  if (items <= static_cast<double>(kMaxPlannedItems)) return static_cast<uint64_t>(items);
  return tl::unexpected<std::string>("--rate: this is more items in such a time than a filter can hold");
}

// Returns --items, or what takes its place; 0 if it is to be worked out.
core::Outcome<uint64_t> ItemsOf(const PlanArguments& given, const Need& need, const std::optional<Sample>& sample) {
  if (!given.rate.empty()) return ItemsAtRate(given, need);
  if (need.window && !need.window->of_time()) {
    if (given.items.empty()) return need.window->items;
    return tl::unexpected<std::string>("--window with a number of items already states the items: omit --items");
  }
  if (sample) return sample->upper_distinct;
  if (given.items.empty()) return 0;
  const auto items = ParseCount(given.items, kMaxPlannedItems);
  if (!items) return Wrong("--items", given.items, "a number of items such as 1000000, 1e9 or 50m, at most 2^48");
  return *items;
}

core::Outcome<Need> NeedOf(const PlanArguments& given, const std::optional<Sample>& sample) {
  Need need{
      .removes = given.removes, .is_static = given.is_static, .stays_fixed = given.stays_fixed, .type = given.type};
  if (!given.window.empty()) {
    need.window = core::ParseWindow(given.window);
    if (!need.window) {
      return Wrong("--window", given.window, "a number of items, or a time such as 500ms, 90s, 30m, 24h or 7d");
    }
  }
  if (!given.ttl.empty()) {
    const auto ms = core::ParseDuration(given.ttl, INT64_MAX);
    if (!ms || *ms == 0) return Wrong("--ttl", given.ttl, "a time such as 500ms, 90s, 30m, 24h or 7d");
    need.ttl_ms = *ms;
  }
  if (!given.error.empty()) {
    const auto rate = ParseErrorRate(given.error);
    if (!rate) return Wrong("--error", given.error, "an error rate " + std::string(core::kErrorRates));
    need.error_rate = *rate;
  }
  if (!given.memory.empty()) {
    const auto bytes = config::ParseByteSize(given.memory);
    if (!bytes || *bytes == 0) return Wrong("--memory", given.memory, "a size such as 512mb or 2gb");
    need.memory_bytes = *bytes;
  }
  const auto items = ItemsOf(given, need, sample);
  if (!items) return tl::unexpected(items.error());
  need.items = *items;
  return need;
}

core::Outcome<ServerClient> ConnectTo(const ServerAccess& server) {
  auto client = ServerClient::Connect(server.target, server.credentials);
  if (!client) return tl::unexpected(server.target.Text() + ": " + client.error());
  return client;
}

core::Outcome<PresentFilter> PresentOf(const std::string& name, ServerClient& client, const ServerAccess& server) {
  const auto info = client.Ask({"BF.INFO", name, "FULL"});
  if (!info) return tl::unexpected(server.target.Text() + ": " + info.error());
  if (info->is_error()) {
    const auto is_missing = client.HoldsNothing(name);
    return tl::unexpected(is_missing && *is_missing ? server.target.Text() + ": " + client.NoFilter(name)
                                                    : core::PrintableName(name) + ": " + info->text);
  }
  const auto text = [&info](std::string_view field) {
    const Reply* const value = info->ValueOf(field);
    return value == nullptr ? "" : value->text;
  };
  const auto rate = [&text](std::string_view field) { return core::ParseDouble(text(field)).value_or(0); };
  PresentFilter present{.name = name,
                        .type = text("Type"),
                        .items = info->NumberOf("Number of items inserted"),
                        .capacity = info->NumberOf("Capacity"),
                        .size_bytes = info->NumberOf("Size"),
                        .requested_error_rate = rate("Error rate"),
                        .estimated_error_rate = rate("Estimated error rate")};
  if (present.capacity != 0) return present;
  return tl::unexpected(core::PrintableName(name) + ": BF.INFO FULL returned no capacity; is it a filter of Bitsieve?");
}

core::Outcome<FoldPlan> FoldPlanOf(const std::string& name, uint64_t items, const ServerAccess& server) {
  auto client = ConnectTo(server);
  if (!client) return tl::unexpected(client.error());
  auto filter = PresentOf(name, *client, server);
  if (!filter) return tl::unexpected(filter.error());
  const auto debug = client->Ask({"BF.DEBUG", name});
  if (!debug) return tl::unexpected(server.target.Text() + ": " + debug.error());
  std::vector<std::string> lines;
  for (const Reply& line : debug->elements) lines.push_back(line.text);
  auto plan = MakeFoldPlan(std::move(*filter), lines, items);
  if (!plan) return tl::unexpected(core::PrintableName(name) + ": " + plan.error());
  return plan;
}

// Takes what was not given from the filter: room for its items, at its error rate.
void TakeFrom(const PresentFilter& present, Need& need) {
  if (need.memory_bytes != 0 && (need.items != 0 || need.error_rate != 0)) return;
  if (need.items == 0) need.items = std::max(present.capacity, present.items);
  if (need.error_rate == 0 && need.memory_bytes == 0) need.error_rate = present.requested_error_rate;
}

// Two of items, rate and memory determine the third.
core::Outcome<Need> Checked(const Need& need) {
  const int given = int{need.items != 0} + int{need.error_rate != 0} + int{need.memory_bytes != 0};
  if (given == 2) return need;
  if (given == 3) return tl::unexpected<std::string>("--memory replaces --items or --error: give two of the three");
  return tl::unexpected<std::string>(
      "two of --items, --error and --memory are needed; --from FILE, or --window or --ttl with --rate, replaces "
      "--items");
}

int PrintError(const std::string& message) {
  std::cerr << "bitsieve plan: " << message << '\n';
  return kExitUsage;
}

// Returns what went wrong; empty if it worked.
std::string WriteSvg(const std::string& path, const std::string& svg) {
  std::ofstream out(path, std::ios::binary);
  out << svg;
  out.close();
  return out ? "" : path + " cannot be written: " + std::strerror(errno);
}

// Does the same as WriteSvg for a PNG, with rsvg-convert, the program of GNOME's SVG library.
std::string WritePng(const std::string& path, const std::string& svg) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return std::strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[0], STDIN_FILENO);
  const std::array<std::string, 3> words = {"rsvg-convert", "--output", path};
  const std::array<char*, 4> arguments = {const_cast<char*>(words[0].c_str()), const_cast<char*>(words[1].c_str()),
                                          const_cast<char*>(words[2].c_str()), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[0]);
  if (error != 0) {
    ::close(pipe[1]);
    return "a PNG needs rsvg-convert (Debian: librsvg2-bin): " + std::string(std::strerror(error)) +
           "; an SVG needs nothing";
  }
  std::signal(SIGPIPE, SIG_IGN);  // if it ends before it has read everything
  for (std::string_view rest = svg; !rest.empty();) {
    const ssize_t written = ::write(pipe[1], rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  ::close(pipe[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? "" : path + " cannot be written: rsvg-convert failed";
}

int WritePlot(const std::string& path, const Plan& plan) {
  const std::string problem = path.ends_with(".png") ? WritePng(path, SvgOf(plan)) : WriteSvg(path, SvgOf(plan));
  if (problem.empty()) return kExitOk;
  std::cerr << "bitsieve plan: --plot: " << problem << '\n';
  return kExitFailure;
}

int RunFoldPlan(const CLI::App& command, const PlanArguments& arguments) {
  uint64_t items = 0;
  if (!arguments.items.empty()) {
    const auto given = ParseCount(arguments.items, kMaxPlannedItems);
    if (!given)
      return PrintError("--items: " + core::Quoted(arguments.items) +
                        " is not a number of items such as 1000000 or 50m");
    items = *given;
  }
  const auto server = ServerOf(command, arguments.connection, arguments.flags);
  if (!server) return kExitUsage;
  const auto plan = FoldPlanOf(arguments.fold, items, *server);
  if (!plan) return PrintError("--fold: " + plan.error());
  std::cout << (arguments.json ? JsonOf(*plan) : TextOf(*plan));
  return kExitOk;
}

int RunPlan(const CLI::App& command, const PlanArguments& arguments) {
  if (!arguments.fold.empty()) return RunFoldPlan(command, arguments);
  std::optional<PresentFilter> present;
  if (!arguments.filter.empty()) {
    const auto server = ServerOf(command, arguments.connection, arguments.flags);
    if (!server) return kExitUsage;
    auto client = ConnectTo(*server);
    if (!client) return PrintError("--filter: " + client.error());
    const auto found = PresentOf(arguments.filter, *client, *server);
    if (!found) return PrintError("--filter: " + found.error());
    present = *found;
  }
  std::optional<Sample> sample;
  if (!arguments.from.empty()) {
    const auto counted = SampleOf(arguments.from);
    if (!counted) return PrintError(counted.error());
    sample = *counted;
  }
  if (arguments.json && arguments.plot == kTerminal) {
    return PrintError("--plot - draws on standard output, which --json needs: name a file such as plan.svg");
  }
  auto need = NeedOf(arguments, sample);
  if (!need) return PrintError(need.error());
  if (present) TakeFrom(*present, *need);
  const auto checked = Checked(*need);
  if (!checked) return PrintError(checked.error());
  auto plan = MakePlan(*checked);
  if (!plan) return PrintError(plan.error());
  plan->present = std::move(present);
  std::cout << (arguments.json ? JsonOf(*plan, sample) : TextOf(*plan, sample));
  if (arguments.plot == kTerminal) std::cout << '\n' << TerminalPlotOf(*plan);
  if (!arguments.plot.empty() && arguments.plot != kTerminal) return WritePlot(arguments.plot, *plan);
  return kExitOk;
}

void AddOptions(CLI::App& command, PlanArguments& arguments) {
  auto* const items = command.add_option("--items", arguments.items, "Different items: 1000000, 1e9, 50m");
  auto* const from = command.add_option("--from", arguments.from,
                                        "Estimate the number of different lines of this file (- for standard input)");
  command.add_option("--error", arguments.error, "Share of absent items reported as present: 0.001, 0.1%");
  command.add_option("--memory", arguments.memory, "Memory, instead of --items or --error: 512mb, 2gb");
  command.add_flag("--delete", arguments.removes, "Items are also removed");
  auto* const window =
      command.add_option("--window", arguments.window,
                         "Items are forgotten after a time (24h), or after a number of other items (1000000)");
  auto* const ttl =
      command.add_option("--ttl", arguments.ttl, "Each item expires after a time of its own, at most this one (24h)");
  auto* const rate = command.add_option("--rate", arguments.rate,
                                        "Items arriving in a window of time, or while one lives: 5000/s, 1e6/h");
  command.add_flag("--static", arguments.is_static, "The set is complete before it is used");
  command.add_flag("--nonscaling", arguments.stays_fixed, "Refuse items beyond the capacity, rather than grow");
  command.add_option("--type", arguments.type, "Plan for this filter type")->type_name("TYPE");
  command
      .add_option("--plot", arguments.plot,
                  "Draw error rates and memory into this file, .svg or .png (- for the terminal)")
      ->type_name("FILE");
  command
      .add_option("--filter", arguments.filter,
                  "Also show this filter of a running server; its items and error rate are the defaults")
      ->type_name("KEY");
  auto* const fold = command
                         .add_option("--fold", arguments.fold,
                                     "Show to what sizes BF.FOLD can make this filter of a running server smaller; "
                                     "--items is what it shall hold")
                         ->type_name("KEY");
  command.add_flag("--json", arguments.json, "Print one JSON object, for scripts");
  for (CLI::Option* each : {items, window, rate}) each->excludes(from);
  for (CLI::Option* each : {from, window, ttl, rate}) each->excludes(fold);
  for (const char* each :
       {"--error", "--memory", "--delete", "--static", "--nonscaling", "--type", "--plot", "--filter"}) {
    command.get_option(each)->excludes(fold);
  }
  items->excludes(rate);
  window->excludes(ttl);
  items->type_name("COUNT");
  from->type_name("FILE");
  arguments.connection.AddTo(command);
  arguments.flags.AddFileTo(command);
  command.get_option("--error")->type_name("RATE");
  command.get_option("--memory")->type_name("SIZE");
  window->type_name("SPAN");
  ttl->type_name("TIME");
  rate->type_name("COUNT/UNIT");
}

}  // namespace

void AddPlan(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = program.add_subcommand("plan", "Recommend a filter: type, memory, error rate, BF.RESERVE line");
  command->footer(
      "Examples:\n"
      "  bitsieve plan --items 1e9 --error 0.001\n"
      "  bitsieve plan --items 50m --error 1% --delete\n"
      "  bitsieve plan --window 24h --rate 5000/s --error 0.01\n"
      "  bitsieve plan --ttl 30m --items 2m --error 0.001  sessions that expire\n"
      "  bitsieve plan --memory 2gb --items 1e9            which error rate?\n"
      "  bitsieve plan --memory 2gb --error 0.001          how many items?\n"
      "  bitsieve plan --from urls.txt --error 0.001 --static\n"
      "  bitsieve plan --filter seen --items 50m --plot seen.svg\n"
      "  bitsieve plan --fold seen --items 50m             smaller, without its items\n"
      "\n"
      "No server is needed, except for --filter and --fold. The figures are those of a server with default options.\n"
      "Exit status: 0, 1 if the plot cannot be written, 2 if there is no such filter or the command line is wrong.");
  AddOptions(*command, *arguments);
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunPlan(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
