#include "server/options/access_control.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "config/text_file.h"
#include "core/base/clock.h"
#include "core/base/quote.h"
#include "server/commands/all_commands.h"
#include "server/net/address.h"

namespace bitsieve::server {
namespace {

using core::ErrorCode;
using core::Fail;

constexpr size_t kMaxFileBytes = 16 << 20;
// Refusals are logged at most so often: one line for all of them.
constexpr std::chrono::seconds kLogInterval{10};

core::Status NoFile() {
  return Fail(ErrorCode::kInvalidArgument,
              "there is no file of users: start the server with aclfile, or create users with ACL SETUSER");
}

static_assert(config::kMaxPasswordBytes == kMaxPasswordBytes);

core::Result<std::string> ReadPassword(const std::string& path) {
  auto text = config::ReadTextFile(path, kMaxPasswordBytes + 2);
  if (!text) return Fail(text.error().code, "requirepass-file: " + text.error().message);
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (!text->empty()) return text;
  return Fail(ErrorCode::kInvalidArgument, "requirepass-file: " + path + ": is empty; it should hold the password");
}

}  // namespace

core::Result<std::string> PasswordOf(const config::Options& options) {
  if (options.requirepass_file.empty()) return options.requirepass;
  return ReadPassword(options.requirepass_file);
}

AccessControl::AccessControl(asio::io_context& context)
    : index_(AllCommands().all_rows()), timer_(context, kLogInterval, [this] { LogRefusals(); }) {}

core::Status AccessControl::Start(const config::Options& options) {
  if (!options.requirepass_file.empty()) {
    if (!options.requirepass.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "requirepass and requirepass-file are both given; give one of them");
    }
    const auto password = PasswordOf(options);
    if (!password) return tl::unexpected(password.error());
    if (core::Status status = users_.SetDefaultPassword(*password); !status) return status;
  }
  Apply(options);
  file_ = options.aclfile;
  if (!file_.empty()) {
    if (core::Status status = LoadUsers(); !status) return status;
  }
  timer_.Start();
  return {};
}

void AccessControl::Apply(const config::Options& options) {
  log_.set_most_entries(options.acllog_max_len);
  protected_mode_.store(options.protected_mode == "yes", std::memory_order_relaxed);
  const core::LockGuard lock(mutex_);
  // Another option changed: what ACL SETUSER made of the user stays.
  if (options.requirepass == password_) return;
  password_ = options.requirepass;
  if (const core::Status status = users_.SetDefaultPassword(password_); !status) {
    spdlog::error("requirepass cannot be applied: {}", status.error().message);
  }
}

void AccessControl::WarnIfProtected(const config::Options& options) const {
  const bool has_port = options.port != config::kNoPort || options.tls_port != 0;
  if (!has_port || options.protected_mode == "no" || !users_.default_is_open()) return;
  const auto endpoints = ParseBindList(options.bind, 0);
  if (!endpoints || std::ranges::all_of(*endpoints, IsLoopback, [](const auto& each) { return each.address(); }))
    return;
  spdlog::warn(
      "Clients on other machines are refused, since there is no password: give one by requirepass-file or "
      "requirepass (BITSIEVE_REQUIREPASS_FILE, BITSIEVE_REQUIREPASS), or set protected-mode to no");
}

void AccessControl::LogRefusal(AccessRefusal::Reason reason, std::string_view object, std::string_view user) {
  log_.Add({.reason = reason,
            .in_transaction = false,
            .object = std::string(object.substr(0, AccessRefusal::kMaxShown)),
            .username = std::string(user.substr(0, AccessRefusal::kMaxShown)),
            .client = "of the admin port"},
           core::SystemClock().WallMs());
}

Admission AccessControl::AdmitToFilter(const std::optional<Credentials>& credentials, std::string_view command,
                                       std::string_view name) {
  const UserPtr user = credentials ? users_.Authenticate(credentials->user, credentials->password) : users_.Default();
  if (user == nullptr) {
    LogRefusal(AccessRefusal::Reason::kPassword, "admin-port", credentials->user);
    return Admission::kNeedsPassword;
  }
  const std::string_view arguments[] = {command, name, "0"};
  const Verdict verdict = user->Check(*AllCommands().Find(command), arguments);
  if (verdict.allowed()) return Admission::kAllowed;
  const bool of_key = verdict.reason == Verdict::Reason::kKey;
  LogRefusal(of_key ? AccessRefusal::Reason::kKey : AccessRefusal::Reason::kCommand, of_key ? name : command,
             user->name());
  return Admission::kHidden;
}

AdminAccess AccessControl::OfAdminPort() {
  const auto may_read = [this](std::string_view name, std::string_view password) {
    constexpr std::string_view kInfo[] = {"info"};
    const UserPtr user = users_.Authenticate(name, password);
    if (user == nullptr) LogRefusal(AccessRefusal::Reason::kPassword, "admin-port", name);
    return user != nullptr && user->Check(*AllCommands().Find(kInfo[0]), kInfo).allowed();
  };
  const auto is_protected = [this] {
    return protected_mode_.load(std::memory_order_relaxed) && users_.default_is_open();
  };
  return {.is_protected = is_protected,
          .needs_password = [this] { return !users_.default_is_open(); },
          .may_read = may_read,
          .admit_to_filter = [this](const std::optional<Credentials>& credentials, std::string_view command,
                                    std::string_view name) { return AdmitToFilter(credentials, command, name); }};
}

core::Status AccessControl::LoadUsers() {
  if (file_.empty()) return NoFile();
  const auto text = config::ReadTextFile(file_, kMaxFileBytes);
  if (!text) return Fail(text.error().code, "aclfile: " + text.error().message);
  if (const core::Status status = users_.Replace(*text); !status) {
    return Fail(status.error().code, "aclfile " + file_ + ": " + status.error().message);
  }
  spdlog::info("Read {} users from {}", users_.All().size(), file_);
  return {};
}

void AccessControl::Reload() {
  if (file_.empty()) return;
  if (const core::Status status = LoadUsers(); !status) {
    spdlog::error("{}; all users are unchanged", status.error().message);
  }
}

core::Status AccessControl::SaveUsers() {
  if (file_.empty()) return NoFile();
  const std::string text = users_.Text();
  if (text.size() > kMaxFileBytes) {
    return Fail(ErrorCode::kInvalidArgument, "aclfile: all users take " + std::to_string(text.size()) +
                                                 " bytes; a file of at most " + std::to_string(kMaxFileBytes) +
                                                 " bytes can be read again");
  }
  core::Status status = config::ReplaceTextFile(file_, text);
  if (!status) status.error().message.insert(0, "aclfile: ");
  return status;
}

void AccessControl::LogRefusals() {
  const AccessLog::Summary summary = log_.TakeSummary();
  if (summary.passwords + summary.commands != 0) {
    spdlog::warn(
        "Refused {} wrong passwords and {} commands that users may not run; the latest: user {}, {}, client {}",
        summary.passwords, summary.commands, core::PrintableName(summary.latest.username),
        core::PrintableName(summary.latest.object), summary.latest.client);
  }
}

}  // namespace bitsieve::server
