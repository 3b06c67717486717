// SUBSCRIBE, PSUBSCRIBE, PUBLISH and their kin.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "server/commands/command_families.h"
#include "server/commands/help.h"
#include "server/commands/subscriptions.h"
#include "server/commands/weigh.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

using Kind = Subscriptions::Kind;

size_t CountOf(const Session& session) { return session.subscriptions == nullptr ? 0 : session.subscriptions->count(); }

// For CLIENT LIST.
void NoteCounts(const Session& session) {
  const Subscriptions* const all = session.subscriptions.get();
  session.client->channels.store(all == nullptr ? 0 : static_cast<uint32_t>(all->channels()),
                                 std::memory_order_relaxed);
  session.client->patterns.store(all == nullptr ? 0 : static_cast<uint32_t>(all->patterns()),
                                 std::memory_order_relaxed);
}

// `verb` is "subscribe" and the like. Without a name: there was none to unsubscribe from.
void Confirm(CommandContext& context, std::string_view verb, std::optional<std::string_view> name) {
  context.reply.PushHeader(3);
  context.reply.BulkString(verb);
  name ? context.reply.BulkString(*name) : context.reply.Null();
  context.reply.Integer(static_cast<int64_t>(CountOf(context.session)));
}

bool Add(CommandContext& context, Kind kind, std::string_view name) {
  Session& session = context.session;
  const size_t most = kind == Kind::kChannel ? PubSub::kMaxChannelBytes : PubSub::kMaxPatternBytes;
  if (name.size() > most) {
    context.Error(kind == Kind::kChannel ? wire::kChannelTooLong : wire::kPatternTooLong);
    return false;
  }
  if (session.subscriptions == nullptr) {
    session.subscriptions = std::make_unique<Subscriptions>(*context.environment.pub_sub, session.wakeable);
  }
  if (session.subscriptions->Add(kind, name)) return true;
  context.Error(wire::kTooManySubscriptions);
  return false;
}

template <Kind kind>
void Subscribe(CommandContext& context) {
  for (const std::string_view name : context.arguments.subspan(1)) {
    if (!Add(context, kind, name)) break;
    Confirm(context, context.row->name, name);
  }
  NoteCounts(context.session);
}

void UnsubscribeFrom(CommandContext& context, Kind kind, std::string_view name) {
  if (Subscriptions* const all = context.session.subscriptions.get(); all != nullptr) {
    all->Remove(kind, name);
    // What had been published by now comes before the confirmation, and nothing after it.
    all->WriteMessages(context.reply, std::numeric_limits<size_t>::max());
  }
  Confirm(context, context.row->name, name);
}

template <Kind kind>
void Unsubscribe(CommandContext& context) {
  const Arguments names = context.arguments.subspan(1);
  for (const std::string_view name : names) UnsubscribeFrom(context, kind, name);
  if (names.empty()) {
    const Subscriptions* const all = context.session.subscriptions.get();
    const std::vector<std::string> held = all == nullptr ? std::vector<std::string>() : all->Names(kind);
    for (const std::string& name : held) UnsubscribeFrom(context, kind, name);
    if (held.empty()) Confirm(context, context.row->name, std::nullopt);
  }
  NoteCounts(context.session);
}

void Publish(CommandContext& context) {
  const std::string_view channel = context.arguments[1];
  if (channel.size() > PubSub::kMaxChannelBytes) return context.Error(wire::kChannelTooLong);
  context.reply.Integer(static_cast<int64_t>(context.environment.pub_sub->Publish(channel, context.arguments[2])));
}

void Channels(CommandContext& context) {
  const std::string_view glob = context.arguments.size() > 2 ? context.arguments[2] : "*";
  if (glob.size() > PubSub::kMaxPatternBytes) return context.Error(wire::kPatternTooLong);
  const std::vector<std::string> found = context.environment.pub_sub->Channels(glob);
  context.reply.ArrayHeader(found.size());
  for (const std::string& channel : found) context.reply.BulkString(channel);
}

void SubscriberCounts(CommandContext& context) {
  const Arguments channels = context.arguments.subspan(2);
  context.reply.ArrayHeader(2 * channels.size());
  for (const std::string_view channel : channels) {
    context.reply.BulkString(channel);
    context.reply.Integer(static_cast<int64_t>(context.environment.pub_sub->Subscribers(channel)));
  }
}

void PatternCount(CommandContext& context) {
  context.reply.Integer(static_cast<int64_t>(context.environment.pub_sub->pattern_count()));
}

constexpr uint32_t kSubscribing = kFast | kNoMulti | kLoading | kWhileSubscribed;
constexpr std::string_view kSubscribeNotes =
    "Until it has unsubscribed from everything, a connection that speaks RESP2 may send nothing but SUBSCRIBE, "
    "PSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE, PING, QUIT and RESET; with RESP3 it may send anything, and messages come "
    "as "
    "push data. A subscriber for whom more bytes of messages wait than client-output-buffer-limit allows is closed. At "
    "most 16384 channels and patterns a connection, of 16 MiB together; a channel has at most 16384 bytes, a pattern "
    "1024.";
constexpr std::string_view kUnsubscribeNotes =
    "Messages that were published before come before the confirmation; none comes after it.";

constexpr CommandRow SubscribingRow(std::string_view name, int arity, std::string_view complexity,
                                    std::string_view summary, std::string_view syntax, std::string_view notes,
                                    Handler handler) {
  return {.name = name,
          .arity = arity,
          .flags = kSubscribing,
          .group = CommandGroup::kPubSub,
          .since = "2.0.0",
          .complexity = complexity,
          .summary = summary,
          .syntax = syntax,
          .notes = notes,
          .handler = handler};
}

constexpr CommandRow kPubSubSubcommands[] = {
    HelpRow("pubsub|help", "6.2.0", CommandGroup::kPubSub),
    {.name = "pubsub|channels",
     .arity = -2,
     .max_arguments = 3,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(channels)",
     .summary = "The channels that have subscribers and fit a glob pattern. Patterns are not counted.",
     .syntax = "[pattern]",
     .handler = Channels},
    {.name = "pubsub|numsub",
     .arity = -2,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(channels asked about)",
     .summary = "How many subscribers each of these channels has. Patterns are not counted.",
     .syntax = "[channel [channel ...]]",
     .weigh = WeighArguments,
     .handler = SubscriberCounts},
    {.name = "pubsub|numpat",
     .arity = 2,
     .flags = kLoading,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "O(1)",
     .summary = "The number of different patterns that have subscribers.",
     .handler = PatternCount},
};

constexpr CommandRow kRows[] = {
    SubscribingRow("subscribe", -2, "O(channels)", "Receives what is published to these channels from now on.",
                   "channel [channel ...]", kSubscribeNotes, Subscribe<Kind::kChannel>),
    SubscribingRow("psubscribe", -2, "O(patterns)",
                   "Receives what is published to every channel that fits one of these glob patterns.",
                   "pattern [pattern ...]", kSubscribeNotes, Subscribe<Kind::kPattern>),
    SubscribingRow("unsubscribe", -1, "O(channels)", "Unsubscribes from these channels, or from all.",
                   "[channel [channel ...]]", kUnsubscribeNotes, Unsubscribe<Kind::kChannel>),
    SubscribingRow("punsubscribe", -1, "O(patterns)", "Unsubscribes from these patterns, or from all.",
                   "[pattern [pattern ...]]", kUnsubscribeNotes, Unsubscribe<Kind::kPattern>),
    {.name = "publish",
     .arity = 3,
     .flags = kFast | kLoading,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kPubSub,
     .since = "2.0.0",
     .complexity = "O(subscribers of the channel + patterns)",
     .summary = "Sends a message to the subscribers of a channel and returns how many there were.",
     .syntax = "channel message",
     .notes =
         "A connection counts once for the channel and once for each of its patterns that fits. It never waits for "
         "a subscriber. See events.md for what subscribers can rely on.",
     .handler = Publish},
    {.name = "pubsub",
     .arity = -2,
     .group = CommandGroup::kPubSub,
     .since = "2.8.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about channels and their subscribers.",
     .subcommands = kPubSubSubcommands},
};

}  // namespace

std::span<const CommandRow> PubSubCommands() { return kRows; }

}  // namespace bitsieve::server
