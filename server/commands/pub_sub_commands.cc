// SUBSCRIBE, PSUBSCRIBE, PUBLISH and their kin.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "commands/weigh.h"
#include "server/commands/all_commands.h"
#include "server/commands/check_pattern.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/aside.h"
#include "server/pubsub/subscriptions.h"
#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace pub_sub_commands {
namespace {

using Kind = Subscriptions::Kind;

// Returns the count of subscriptions, which a confirmation reports.
size_t CountOf(const Session& session) {
  const Subscriptions* const all = session.subscriptions.get();
  return all == nullptr ? 0 : all->count();
}

// For CLIENT LIST.
void PublishCounts(const Session& session) {
  const Subscriptions* const all = session.subscriptions.get();
  session.client->channels.store(all == nullptr ? 0 : static_cast<uint32_t>(all->channels()),
                                 std::memory_order_relaxed);
  session.client->patterns.store(all == nullptr ? 0 : static_cast<uint32_t>(all->patterns()),
                                 std::memory_order_relaxed);
}

// Without a name: there was none to unsubscribe from.
void Confirm(ServerContext& context, std::optional<std::string_view> name) {
  context.reply.PushHeader(3);
  context.reply.BulkString(context.row->name);
  name ? context.reply.BulkString(*name) : context.reply.Null();
  context.reply.Integer(static_cast<int64_t>(CountOf(context.session)));
}

bool CheckChannel(ServerContext& context, std::string_view channel) {
  const bool fits = channel.size() <= PubSub::kMaxChannelBytes;
  if (!fits) context.Error(wire::ChannelTooLong(channel.size(), PubSub::kMaxChannelBytes));
  return fits;
}

bool Add(ServerContext& context, Kind kind, std::string_view name) {
  Session& session = context.session;
  if (kind == Kind::kPattern ? !CheckPattern(context, name) : !CheckChannel(context, name)) return false;
  if (session.subscriptions == nullptr) {
    session.subscriptions = std::make_unique<Subscriptions>(*context.server.pub_sub, session.wakeable);
  }
  if (session.subscriptions->Add(kind, name)) return true;
  context.Error(wire::TooManySubscriptions(Subscriptions::kMaxNames, Subscriptions::kMaxBytes));
  return false;
}

template <Kind kind>
void Subscribe(ServerContext& context) {
  for (const std::string_view name : context.arguments.subspan(1)) {
    if (!Add(context, kind, name)) break;
    Confirm(context, name);
  }
  PublishCounts(context.session);
}

void UnsubscribeFrom(ServerContext& context, Kind kind, std::string_view name) {
  if (Subscriptions* const all = context.session.subscriptions.get(); all != nullptr) {
    all->Remove(kind, name);
    // Messages that were published before come before the confirmation, and none comes after it.
    all->WriteMessages(context.reply, std::numeric_limits<size_t>::max());
  }
  Confirm(context, name);
}

template <Kind kind>
void Unsubscribe(ServerContext& context) {
  const Arguments names = context.arguments.subspan(1);
  for (const std::string_view name : names) UnsubscribeFrom(context, kind, name);
  if (names.empty()) {
    const Subscriptions* const all = context.session.subscriptions.get();
    const std::vector<std::string> held = all == nullptr ? std::vector<std::string>() : all->Names(kind);
    for (const std::string& name : held) UnsubscribeFrom(context, kind, name);
    if (held.empty()) Confirm(context, std::nullopt);
  }
  PublishCounts(context.session);
}

void Publish(ServerContext& context) {
  const std::string_view channel = context.arguments[1], message = context.arguments[2];
  if (!CheckChannel(context, channel)) return;
  PubSub& pub_sub = *context.server.pub_sub;
  const std::optional<uint64_t> receivers =
      context.MustBeQuick() ? pub_sub.TryPublish(channel, message) : pub_sub.Publish(channel, message);
  if (!receivers) return RunAside(context, Weight::kMany);
  context.reply.Integer(static_cast<int64_t>(*receivers));
}

void Channels(ServerContext& context) {
  const std::string_view glob = context.arguments.size() > 2 ? context.arguments[2] : "*";
  if (!CheckPattern(context, glob)) return;
  const PubSub& pub_sub = *context.server.pub_sub;
  if (context.MustBeQuick() && pub_sub.ChannelsCost(glob) > kTurnNs) return RunAside(context, Weight::kMany);
  const std::vector<std::string> found = pub_sub.Channels(glob);
  context.reply.ArrayHeader(found.size());
  for (const std::string& channel : found) context.reply.BulkString(channel);
}

void SubscriberCounts(ServerContext& context) {
  const Arguments channels = context.arguments.subspan(2);
  context.reply.ArrayHeader(2 * channels.size());
  for (const std::string_view channel : channels) {
    context.reply.BulkString(channel);
    context.reply.Integer(static_cast<int64_t>(context.server.pub_sub->Subscribers(channel)));
  }
}

void PatternCount(ServerContext& context) {
  context.reply.Integer(static_cast<int64_t>(context.server.pub_sub->pattern_count()));
}

constexpr uint32_t kSubscribing = kLoading | kWhileSubscribed;
constexpr std::string_view kSubscribeNotes =
    "With RESP2, a connection may only send SUBSCRIBE, PSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE, PING, QUIT and RESET "
    "until it has unsubscribed from everything; with RESP3 it may send any command, and messages arrive as push data. "
    "A subscriber is closed if more bytes of messages wait for it than client-output-buffer-limit allows. A connection "
    "can subscribe to 16384 channels and patterns, with 16 MiB in total. A channel name has at most 16384 bytes; "
    "max-pattern-bytes limits a pattern.";
constexpr std::string_view kUnsubscribeNotes =
    "Messages published earlier arrive before the confirmation, and none arrives after it.";

constexpr KeyPositions kAllArguments{1, -1, 1};

constexpr CommandRow SubscribingRow(std::string_view name, int arity, std::string_view since,
                                    std::string_view complexity, std::string_view summary, std::string_view syntax,
                                    std::string_view notes, Handler handler, KeyPositions channels = {}) {
  return {.name = name,
          .arity = arity,
          .flags = kSubscribing,
          .channels = channels,
          .channels_are_patterns = name == "psubscribe",
          .group = CommandGroup::kPubSub,
          .since = since,
          .complexity = complexity,
          .summary = summary,
          .syntax = syntax,
          .notes = notes,
          .handler = handler};
}

constexpr CommandRow kPubSubSubcommands[] = {
    HelpRow("pubsub|help", "6.2.0", CommandGroup::kPubSub, CommandGroup::kServer),
    {.name = "pubsub|channels",
     .arity = -2,
     .max_arguments = 3,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(channels)",
     .summary = "Returns the channels that have subscribers and match a glob pattern. Patterns are not counted.",
     .syntax = "[pattern]",
     .handler = On<Channels>},
    {.name = "pubsub|numsub",
     .arity = -2,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(channels asked about)",
     .summary = "Returns the number of subscribers of each of these channels. Patterns are not counted.",
     .syntax = "[channel [channel ...]]",
     .weigh = WeighArguments,
     .handler = On<SubscriberCounts>},
    {.name = "pubsub|numpat",
     .arity = 2,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(1)",
     .summary = "Returns the number of different patterns that have subscribers.",
     .handler = On<PatternCount>},
};

constexpr CommandRow kRows[] = {
    SubscribingRow("subscribe", -2, "2.0.0", "O(channels)", "Subscribes to these channels.", "channel [channel ...]",
                   kSubscribeNotes, On<Subscribe<Kind::kChannel>>, kAllArguments),
    SubscribingRow("psubscribe", -2, "2.0.0", "O(patterns)",
                   "Subscribes to all channels whose names match one of these glob patterns.", "pattern [pattern ...]",
                   kSubscribeNotes, On<Subscribe<Kind::kPattern>>, kAllArguments),
    SubscribingRow("unsubscribe", -1, "2.0.0", "O(channels)", "Unsubscribes from these channels, or from all.",
                   "[channel [channel ...]]", kUnsubscribeNotes, On<Unsubscribe<Kind::kChannel>>),
    SubscribingRow("punsubscribe", -1, "2.0.0", "O(patterns)", "Unsubscribes from these patterns, or from all.",
                   "[pattern [pattern ...]]", kUnsubscribeNotes, On<Unsubscribe<Kind::kPattern>>),
    {.name = "publish",
     .arity = 3,
     .flags = kFast | kLoading | kPublishes,
     .channels = kFirstArgument,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kPubSub,
     .since = "2.0.0",
     .complexity = "O(subscribers of the channel + patterns that begin as it does)",
     .summary = "Sends a message to the subscribers of a channel. Returns how many there were.",
     .syntax = "channel message",
     .notes = "A connection counts once for the channel and once for each of its patterns that match. The command "
              "never waits for a subscriber. If sending takes long, a worker does it, so that other connections of the "
              "event loop are served. See events.md for what subscribers can rely on.",
     .handler = On<Publish>},
    {.name = "pubsub",
     .arity = -2,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about channels and their subscribers.",
     .subcommands = kPubSubSubcommands},
};

}  // namespace
}  // namespace pub_sub_commands

std::span<const CommandRow> PubSubCommands() { return pub_sub_commands::kRows; }

}  // namespace bitsieve::server
