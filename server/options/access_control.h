// access_control.h: the users of the running server: where they come from (requirepass, requirepass-file, aclfile), and
// what the log says of refusals.
// LoadUsers(), SaveUsers() and Apply() are thread-safe; the rest is confined to the thread of the io_context.
#pragma once

#include <asio/io_context.hpp>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "config/options.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "server/auth/access_log.h"
#include "server/auth/command_index.h"
#include "server/auth/users.h"
#include "server/http/admin_access.h"
#include "server/process/periodic.h"

namespace bitsieve::server {

// The password that the options give to the user default, from the file if they name one; empty: none.
core::Result<std::string> PasswordOf(const config::Options& options);

class AccessControl {
 public:
  explicit AccessControl(asio::io_context& context);

  // Reads the files. kInvalidArgument or kIo, naming file and line, if something is wrong.
  core::Status Start(const config::Options& options);
  // Takes over what CONFIG SET may change.
  void Apply(const config::Options& options);
  // The users of aclfile. kInvalidArgument if there is no such option.
  core::Status LoadUsers();
  core::Status SaveUsers();
  // Loads them if there is a file; an error is logged, and the users stay what they were.
  void Reload();

  // Anyone who may run INFO may see what the admin port shows, except for filters: they are for anyone who may follow
  // them by commands. The functions live as long as this.
  AdminAccess OfAdminPort();
  // Logs that clients of other machines are refused, if some could reach the server: they learn why, but the person
  // who starts it would not.
  void WarnIfProtected(const config::Options& options) const;

  Users& users() { return users_; }
  AccessLog& log() { return log_; }

 private:
  Admission AdmitToFilter(const std::optional<Credentials>& credentials, std::string_view command,
                          std::string_view name);
  // A refusal by the admin port.
  void LogRefusal(AccessRefusal::Reason reason, std::string_view object, std::string_view user);
  void LogRefusals();

  const CommandIndex index_;
  Users users_{index_};
  AccessLog log_{0};
  Periodic timer_;
  std::string file_;                        // constant after Start()
  std::atomic<bool> protected_mode_{true};  // relaxed: an option
  core::Mutex mutex_;
  std::string password_ BITSIEVE_GUARDED_BY(mutex_);  // requirepass, as it was applied last
};

}  // namespace bitsieve::server
