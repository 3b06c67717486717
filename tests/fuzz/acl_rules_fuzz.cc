// Whatever is in a file of users or among the rules of ACL SETUSER: it is refused and changes nothing, or it makes
// users whose text makes equal users again. And no user may do what none of its rules names.
//
// The first byte chooses: a file, or rules of one user, which are the lines that follow.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth/users.h"
#include "server/commands/all_commands.h"

namespace bitsieve::server {

using namespace commands;

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

const CommandIndex& Index() {
  static const CommandIndex index(AllCommands().all_rows());
  return index;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void CheckUser(const User& user) {
  const std::string_view add[] = {"bf.add", "f", "x"};
  const CommandRow* const row = AllCommands().Find("bf.add");
  const bool named = user.Text().find('+') != std::string::npos;
  if (user.Check(*row, add).allowed()) Require(named);
  if (user.unlimited()) Require(user.Check(*row, add).allowed());
  (void)user.Accepts("secret");
}

void CheckRoundTrip(const Users& users) {
  const std::string text = users.Text();
  Users again(Index());
  Require(again.Replace(text).has_value());
  Require(again.Text() == text);
  for (const UserPtr& user : users.All()) CheckUser(*user);
}

void Try(std::string_view input) {
  Users users(Index());
  const std::string before = users.Text();
  const bool is_file = input.front() % 2 == 0;
  input.remove_prefix(1);
  const core::Status status = is_file ? users.Replace(input) : users.Set("bob", Lines(input));
  if (!status) {
    Require(!status.error().message.empty());
    Require(users.Text() == before);
  }
  CheckRoundTrip(users);
}

}  // namespace
}  // namespace bitsieve::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  bitsieve::server::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
