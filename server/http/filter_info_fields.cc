#include "server/http/filter_info_fields.h"

#include <array>

#include "commands/command.h"
#include "core/base/parse.h"
#include "protocol/reply_writer.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/server_context.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// The values of a RESP3 reply, one after the other.
class ReplyValues {
 public:
  explicit ReplyValues(std::string_view reply) : rest_(reply) {}

  bool AtEnd() const { return rest_.empty(); }
  FieldValue Next() {
    const size_t end = rest_.find("\r\n");
    const char type = rest_[0];
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 2);
    switch (type) {
      case ':':
        return core::ParseInteger(text).value_or(0);
      case ',':
        return core::ParseDouble(text).value_or(0);
      case '#':
        return text == "t";
      case '_':
        return nullptr;
      case '$':
        return Bulk(core::ParseUnsigned(text).value_or(0));
      default:
        return std::string(text);
    }
  }

 private:
  std::string Bulk(size_t bytes) {
    std::string text(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes + 2);
    return text;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::pair<std::string, FieldValue>> FilterInfoFields(const Environment& server, std::string_view name) {
  std::string reply;
  protocol::ReplyWriter writer(reply);
  writer.set_version(protocol::ProtocolVersion::kResp3);
  CommandContext context(server.filters, *server.keyspace, writer);
  const std::array<std::string_view, 3> arguments = {"bf.info", name, "FULL"};
  context.arguments = arguments;
  context.row = server.table->Find(arguments[0]);
  context.row->handler(context);

  std::vector<std::pair<std::string, FieldValue>> fields;
  if (!reply.starts_with('%')) return fields;
  ReplyValues values(reply);
  values.Next();  // how many there are
  while (!values.AtEnd()) {
    FieldValue label = values.Next();
    fields.emplace_back(std::get<std::string>(std::move(label)), values.Next());
  }
  return fields;
}

}  // namespace bitsieve::server
