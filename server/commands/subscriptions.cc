#include "server/commands/subscriptions.h"

namespace bitsieve::server {
namespace {

void WriteMessage(protocol::ReplyWriter& reply, const Inbox::Item& item) {
  reply.PushHeader(item.pattern == nullptr ? 3 : 4);
  reply.BulkString(item.pattern == nullptr ? "message" : "pmessage");
  if (item.pattern != nullptr) reply.BulkString(*item.pattern);
  reply.BulkString(item.message->channel);
  reply.BulkString(item.message->payload);
}

}  // namespace

Subscriptions::Subscriptions(PubSub& pub_sub, Wakeable* owner)
    : pub_sub_(pub_sub),
      inbox_(std::make_shared<Inbox>(owner == nullptr ? std::function<void()>() : owner->MessageWaker(),
                                     pub_sub.inbox_limit_bytes)) {}

Subscriptions::~Subscriptions() {
  for (const std::string& name : channels_) Leave(Kind::kChannel, name);
  for (const std::string& name : patterns_) Leave(Kind::kPattern, name);
}

size_t Subscriptions::BytesOf(std::string_view name) {
  // The string, its node, and its place among the subscribers of the channel.
  return sizeof(std::string) + 10 * sizeof(void*) + name.size();
}

void Subscriptions::Leave(Kind kind, std::string_view name) {
  kind == Kind::kChannel ? pub_sub_.Unsubscribe(name, inbox_) : pub_sub_.UnsubscribePattern(name, inbox_);
}

bool Subscriptions::Add(Kind kind, std::string_view name) {
  std::string key(name);
  if (SetOf(kind).contains(key)) return true;
  if (count() == kMaxNames || bytes_ + BytesOf(name) > kMaxBytes) return false;
  // First: if there is no memory for the rest, the end of the connection still undoes it all.
  SetOf(kind).insert(std::move(key));
  bytes_ += BytesOf(name);
  kind == Kind::kChannel ? pub_sub_.Subscribe(name, inbox_) : pub_sub_.SubscribePattern(name, inbox_);
  return true;
}

void Subscriptions::Remove(Kind kind, std::string_view name) {
  const auto found = SetOf(kind).find(std::string(name));
  if (found == SetOf(kind).end()) return;
  Leave(kind, name);
  bytes_ -= BytesOf(name);
  SetOf(kind).erase(found);
}

std::vector<std::string> Subscriptions::Names(Kind kind) const {
  const Set& names = kind == Kind::kChannel ? channels_ : patterns_;
  return {names.begin(), names.end()};
}

bool Subscriptions::WriteMessages(protocol::ReplyWriter& reply, size_t most_bytes) {
  const size_t before = reply.size();
  return inbox_->Take([&](const Inbox::Item& item) {
    WriteMessage(reply, item);
    return reply.size() - before < most_bytes;
  });
}

}  // namespace bitsieve::server
