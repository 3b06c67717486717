#include "server/session/client_description.h"

#include <algorithm>
#include <string_view>

namespace bitsieve::server {
namespace {

void AppendField(std::string& line, std::string_view name, std::string_view value) {
  if (!line.empty()) line += ' ';
  line.append(name).append("=").append(value);
}

std::string Flags(const ClientRecord& client) {
  std::string flags;
  if (client.monitors.load(std::memory_order_relaxed)) flags += 'O';
  if (client.is_subscribed()) flags += 'P';
  if (client.queued_commands.load(std::memory_order_relaxed) >= 0) flags += 'x';
  if (client.address.starts_with('/')) flags += 'U';
  if (client.no_evict.load(std::memory_order_relaxed)) flags += 'e';
  return flags.empty() ? "N" : flags;
}

void AppendMemory(std::string& line, const ClientRecord::Memory& memory) {
  const auto field = [&line](std::string_view name, const std::atomic<uint64_t>& bytes) {
    AppendField(line, name, std::to_string(bytes.load(std::memory_order_relaxed)));
  };
  field("qbuf", memory.received);
  field("qbuf-free", memory.received_free);
  field("argv-mem", memory.waiting);
  field("multi-mem", memory.queued);
  field("obl", memory.held);
  field("oll", memory.unsent_blocks);
  field("omem", memory.unsent);
  field("tot-mem", memory.total);
}

}  // namespace

std::string DescribeClient(const ClientRecord& client, int64_t now_ms) {
  const auto seconds_since = [now_ms](int64_t then_ms) {
    return std::to_string(std::max<int64_t>(0, now_ms - then_ms) / 1000);
  };
  const int32_t queued = client.queued_commands.load(std::memory_order_relaxed);
  std::string line;
  AppendField(line, "id", std::to_string(client.id));
  AppendField(line, "addr", client.address);
  AppendField(line, "laddr", client.local_address);
  AppendField(line, "name", client.name());
  AppendField(line, "age", seconds_since(client.connected_ms));
  AppendField(line, "idle", seconds_since(client.last_active_ms.load(std::memory_order_relaxed)));
  const uint32_t channels = client.channels.load(std::memory_order_relaxed);
  const uint32_t patterns = client.patterns.load(std::memory_order_relaxed);
  AppendField(line, "flags", Flags(client));
  AppendField(line, "db", "0");
  AppendField(line, "sub", std::to_string(channels));
  AppendField(line, "psub", std::to_string(patterns));
  AppendField(line, "ssub", "0");  // there are no shard channels
  AppendField(line, "multi", std::to_string(queued));
  AppendField(line, "watch", std::to_string(client.watched_names.load(std::memory_order_relaxed)));
  AppendMemory(line, client.memory);
  AppendField(line, "cmd", client.last_command.load(std::memory_order_relaxed));
  AppendField(line, "user", client.user());
  AppendField(line, "lib-name", client.library_name());
  AppendField(line, "lib-ver", client.library_version());
  AppendField(line, "resp", std::to_string(client.protocol_version.load(std::memory_order_relaxed)));
  return line;
}

}  // namespace bitsieve::server
