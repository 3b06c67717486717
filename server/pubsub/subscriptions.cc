#include "server/pubsub/subscriptions.h"

namespace bitsieve::server {
namespace {

// All of it but the payload.
void WriteHead(protocol::ReplyWriter& reply, const Inbox::Item& item) {
  reply.PushHeader(item.pattern == nullptr ? 3 : 4);
  reply.BulkString(item.pattern == nullptr ? "message" : "pmessage");
  if (item.pattern != nullptr) reply.BulkString(*item.pattern);
  reply.BulkString(item.message->channel);
}

void WriteMessage(protocol::ReplyWriter& reply, const Inbox::Item& item) {
  if (item.message->is_line) return reply.SimpleString(item.message->payload);
  WriteHead(reply, item);
  reply.BulkString(item.message->payload);
}

}  // namespace

Subscriptions::Subscriptions(PubSub& pub_sub, Wakeable* owner)
    : pub_sub_(pub_sub),
      inbox_(std::make_shared<Inbox>(owner == nullptr ? std::function<void()>() : owner->MessageWaker(),
                                     pub_sub.inbox_limit_bytes)) {}

Subscriptions::~Subscriptions() {
  if (feed_ != nullptr) feed_->Remove(inbox_);
  for (const Kind kind : {Kind::kChannel, Kind::kPattern}) {
    for (const std::string& name : SetOf(kind)) Leave(kind, name);
  }
}

size_t Subscriptions::BytesOf(std::string_view name) {
  // The string and its node, the channel's entry and its audience of one, with what the heap adds.
  return sizeof(std::string) + 32 * sizeof(void*) + name.size();
}

void Subscriptions::Join(Kind kind, std::string_view name) {
  if (kind == Kind::kPattern) return pub_sub_.SubscribePattern(name, inbox_);
  pub_sub_.Subscribe(name, inbox_);
}

void Subscriptions::Leave(Kind kind, std::string_view name) {
  if (kind == Kind::kPattern) return pub_sub_.UnsubscribePattern(name, inbox_);
  pub_sub_.Unsubscribe(name, inbox_);
}

bool Subscriptions::Add(Kind kind, std::string_view name) {
  std::string key(name);
  if (SetOf(kind).contains(key)) return true;
  if (count() == kMaxNames || bytes_ + BytesOf(name) > kMaxBytes) return false;
  // First: if there is no memory for the rest, the end of the connection still undoes it all.
  SetOf(kind).insert(std::move(key));
  bytes_ += BytesOf(name);
  Join(kind, name);
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
  const Set& names = SetOf(kind);
  return {names.begin(), names.end()};
}

void Subscriptions::Monitor(MonitorFeed& feed) {
  feed.Add(inbox_);
  feed_ = &feed;
}

bool Subscriptions::WriteMessages(protocol::ReplyWriter& reply, size_t most_bytes) {
  const size_t before = reply.size();
  return inbox_->Take([&](const Inbox::Item& item) {
    WriteMessage(reply, item);
    return reply.size() - before < most_bytes;
  });
}

bool Subscriptions::WriteMessages(protocol::ReplyWriter& reply, size_t most_bytes,
                                  std::shared_ptr<const Message>& payload) {
  const size_t before = reply.size();
  return inbox_->Take([&](const Inbox::Item& item) {
    if (item.message->is_line || item.message->payload.size() < kLongBytes) {
      WriteMessage(reply, item);
      return reply.size() - before < most_bytes;
    }
    WriteHead(reply, item);
    reply.BulkHeader(item.message->payload.size());
    payload = item.message;
    return false;
  });
}

}  // namespace bitsieve::server
