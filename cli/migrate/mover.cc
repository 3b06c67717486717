#include "cli/migrate/mover.h"

#include <random>
#include <thread>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

constexpr uint64_t kMaxBytesWithoutReply = 16 << 20;

// The command that makes an empty filter of another type.
class ReserveCommand final : public FilterCommands {
 public:
  ReserveCommand(const FilterShape& shape, const std::string& type)
      : command_(TargetCommand{
            .command = "BF.RESERVE",
            .arguments = {core::ShortestText(shape.error_rate), std::to_string(shape.capacity), "TYPE", type}}) {}

  core::Outcome<std::optional<TargetCommand>> Next() override { return std::exchange(command_, std::nullopt); }

 private:
  std::optional<TargetCommand> command_;
};

std::string Encoded(const TargetCommand& command, const std::string& name) {
  std::string bytes;
  AppendCommandHead(bytes, 2 + command.arguments.size());
  AppendWord(bytes, command.command);
  AppendWord(bytes, name);
  for (const std::string& each : command.arguments) AppendWord(bytes, each);
  return bytes;
}

}  // namespace

core::Outcome<std::vector<bool>> AskWhichAreThere(ServerClient& target, std::span<const FoundFilter> filters) {
  PipelinedCommands questions(target);
  for (const FoundFilter& each : filters) questions.Add({"EXISTS", each.name});
  const auto replies = questions.Ask();
  if (!replies) return tl::unexpected("the new server: " + replies.error());
  std::vector<bool> there;
  for (const Reply& reply : *replies) {
    if (reply.is_error()) return tl::unexpected("the new server: " + reply.text);
    there.push_back(reply.integer != 0);
  }
  return there;
}

Mover::Mover(FilterSource& source, ServerClient& target, const MoveSettings& settings, Progress progress)
    : source_(source),
      target_(target),
      settings_(settings),
      progress_(std::move(progress)),
      temporary_suffix_(":migrate:" + std::to_string(std::random_device()())) {}

core::Outcome<void> Mover::Move(const FoundFilter& filter) {
  return SendAll(filter, std::make_shared<Transfer>(Transfer{.name = filter.name}));
}

core::Outcome<std::unique_ptr<FilterCommands>> Mover::CommandsFor(const FoundFilter& filter, Transfer& transfer) {
  if (settings_.as.empty()) return source_.Open(filter);
  const auto shape = source_.ShapeOf(filter);
  if (!shape) return tl::unexpected(shape.error());
  if (!*shape) return source_.Open(filter);
  transfer.is_empty = true;
  return std::make_unique<ReserveCommand>(**shape, settings_.as);
}

// Stops sending a filter that the source cannot give or that the new server has refused already.
core::Outcome<void> Mover::SendAll(const FoundFilter& filter, const std::shared_ptr<Transfer>& transfer) {
  const auto commands = CommandsFor(filter, *transfer);
  if (!commands) transfer->failure = commands.error();
  const bool needs_end = settings_.replace || filter.expires_ms != 0;
  if (commands && needs_end && !(*commands)->are_all()) transfer->temporary_name = filter.name + temporary_suffix_;
  const std::string& name = transfer->temporary_name.empty() ? transfer->name : transfer->temporary_name;
  // Each command is sent only when the next is known, since the last one is marked as last or followed by SendEnd.
  std::string ready;
  while (transfer->failure.empty()) {
    const auto next = (*commands)->Next();
    if (!next) {
      transfer->failure = next.error();
    } else if (!*next) {
      break;
    } else {
      if (!ready.empty()) {
        if (auto sent = Send(transfer, Step::kMake, std::exchange(ready, {}), false); !sent) return sent;
      }
      ready = Encoded(**next, name);
    }
  }
  if (!transfer->failure.empty()) {
    End(*transfer);
    return {};
  }
  if (transfer->temporary_name.empty()) return Send(transfer, Step::kMake, std::move(ready), true);
  if (auto sent = Send(transfer, Step::kMake, std::move(ready), false); !sent) return sent;
  return SendEnd(filter, transfer);
}

// The last command removes what is left under the temporary name if the name is taken by now.
core::Outcome<void> Mover::SendEnd(const FoundFilter& filter, const std::shared_ptr<Transfer>& transfer) {
  std::string bytes;
  if (filter.expires_ms != 0) {
    AppendCommand(bytes, {"PEXPIREAT", transfer->temporary_name, std::to_string(filter.expires_ms)});
    if (auto sent = Send(transfer, Step::kExpire, std::exchange(bytes, {}), false); !sent) return sent;
  }
  AppendCommand(bytes, {settings_.replace ? "RENAME" : "RENAMENX", transfer->temporary_name, transfer->name});
  if (auto sent = Send(transfer, Step::kRename, std::exchange(bytes, {}), false); !sent) return sent;
  AppendCommand(bytes, {"UNLINK", transfer->temporary_name});
  return Send(transfer, Step::kRemove, std::move(bytes), true);
}

core::Outcome<void> Mover::Send(const std::shared_ptr<Transfer>& transfer, Step step, std::string bytes, bool is_last) {
  if (auto awaited = AwaitReplies(kMaxBytesWithoutReply); !awaited) return awaited;
  WaitForBandwidth();
  if (auto sent = target_.Send(bytes); !sent) return sent;
  transfer->bytes += bytes.size();
  sent_bytes_ += bytes.size();
  expected_bytes_ += bytes.size();
  expected_.push_back({.transfer = transfer, .step = step, .bytes = bytes.size(), .is_last = is_last});
  progress_(sent_bytes_);
  return {};
}

core::Outcome<void> Mover::AwaitReplies(uint64_t most_bytes) {
  constexpr size_t kMaxReplies = 1000;  // that the new server has to keep for us
  while (!expected_.empty() && (expected_bytes_ > most_bytes || expected_.size() > kMaxReplies || most_bytes == 0)) {
    const auto reply = target_.Receive();
    if (!reply) return tl::unexpected("the new server: " + reply.error());
    const Expected expected = std::move(expected_.front());
    expected_.pop_front();
    expected_bytes_ -= expected.bytes;
    TakeReply(*expected.transfer, expected.step, *reply);
    if (expected.is_last) End(*expected.transfer);
  }
  return {};
}

void Mover::TakeReply(Transfer& transfer, Step step, const Reply& reply) {
  if (!transfer.failure.empty() || step == Step::kRemove) return;
  if (reply.is_error()) {
    transfer.failure = "the new server: " + reply.text;
  } else if (step == Step::kExpire && reply.integer == 0) {
    transfer.failure = "it expired during the move";
  } else if (step == Step::kRename && reply.kind == Reply::kInteger && reply.integer == 0) {
    transfer.failure = "its name was taken on the new server during the move";
  }
}

void Mover::End(const Transfer& transfer) {
  if (!transfer.failure.empty()) {
    report_.failures.push_back({.name = transfer.name, .reason = transfer.failure});
    return;
  }
  ++report_.moved;
  report_.made_empty += transfer.is_empty;
  report_.moved_bytes += transfer.bytes;
}

void Mover::WaitForBandwidth() {
  if (settings_.bytes_per_second == 0) return;
  const double seconds = static_cast<double>(sent_bytes_) / static_cast<double>(settings_.bytes_per_second);
  std::this_thread::sleep_until(began_ +
                                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace bitsieve::cli
