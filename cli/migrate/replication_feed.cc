#include "cli/migrate/replication_feed.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

constexpr std::chrono::seconds kPatience{60};          // of an answer
constexpr std::chrono::minutes kPatienceWithFork{30};  // until a large server has written its RDB file
constexpr std::chrono::seconds kBetweenAcknowledgements{1};
constexpr size_t kFeedPieceBytes = 1 << 20;
constexpr size_t kMaxLineBytes = 4096;

using Clock = std::chrono::steady_clock;

tl::unexpected<std::string> SystemError(const char* what) {
  return tl::unexpected(std::string("temporary file: ") + what + ": " + std::system_category().message(errno));
}

}  // namespace

core::Outcome<TemporaryFile> TemporaryFile::Make() {
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr || *folder == 0 ? "/tmp" : folder) + "/bitsieve-migrate-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return SystemError(path.c_str());
  ::unlink(path.c_str());
  return TemporaryFile(descriptor);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), end_(other.end_), taken_(other.taken_) {}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string TemporaryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

core::Outcome<void> TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(end_));
    if (written < 0 && errno != EINTR) return SystemError("cannot write");
    if (written <= 0) continue;
    end_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// Frees the disk space as soon as everything in the file was taken.
core::Outcome<std::string_view> TemporaryFile::Take(std::string& room) {
  if (left() == 0) return std::string_view();
  room.resize(std::min<uint64_t>(kFeedPieceBytes, left()));
  const ssize_t read = ::pread(descriptor_, room.data(), room.size(), static_cast<off_t>(taken_));
  if (read <= 0) return SystemError("cannot read");
  taken_ += static_cast<uint64_t>(read);
  if (left() == 0 && ::ftruncate(descriptor_, 0) == 0) taken_ = end_ = 0;
  return std::string_view(room.data(), static_cast<size_t>(read));
}

core::Outcome<std::unique_ptr<ReplicationFeed>> ReplicationFeed::Start(const Target& target,
                                                                       const Credentials& credentials,
                                                                       const Progress& progress) {
  auto connection = ClientConnection::Connect(target, Clock::now() + kPatience);
  if (!connection) return tl::unexpected(connection.error());
  auto rdb = TemporaryFile::Make();
  if (!rdb) return tl::unexpected(rdb.error());
  auto changes = TemporaryFile::Make();
  if (!changes) return tl::unexpected(changes.error());
  std::unique_ptr<ReplicationFeed> feed(
      new ReplicationFeed(std::move(*connection), std::move(*rdb), std::move(*changes)));
  if (auto done = feed->ShakeHands(credentials); !done) return tl::unexpected(done.error());
  if (auto done = feed->ReceiveRdb(progress); !done) return tl::unexpected(done.error());
  return feed;
}

core::Outcome<void> ReplicationFeed::Fill() {
  std::array<char, 64 << 10> room;
  const auto received = connection_.Receive(room);
  if (!received) return tl::unexpected(received.error());
  buffer_.append(room.data(), *received);
  return {};
}

core::Outcome<std::string> ReplicationFeed::ReadLine() {
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (buffer_.size() > kMaxLineBytes) return tl::unexpected<std::string>("its reply is not a line");
    if (auto filled = Fill(); !filled) return tl::unexpected(filled.error());
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

core::Outcome<std::string> ReplicationFeed::AskForLine(std::initializer_list<std::string_view> words) {
  std::string command;
  AppendCommand(command, words);
  connection_.set_deadline(Clock::now() + kPatience);
  if (auto sent = connection_.Send(command); !sent) return tl::unexpected(sent.error());
  return ReadLine();
}

core::Outcome<void> ReplicationFeed::ShakeHands(const Credentials& credentials) {
  if (!credentials.password.empty()) {
    const auto answer = credentials.user.empty() ? AskForLine({"AUTH", credentials.password})
                                                 : AskForLine({"AUTH", credentials.user, credentials.password});
    if (!answer) return tl::unexpected(answer.error());
    if (const std::string problem = AuthProblem(*answer, credentials); !problem.empty()) return tl::unexpected(problem);
  }
  const auto answer = AskForLine({"PSYNC", "?", "-1"});
  if (!answer) return tl::unexpected(answer.error());
  const size_t last_space = answer->rfind(' ');
  const auto offset = core::ParseUnsigned(answer->substr(last_space == std::string::npos ? 0 : last_space + 1));
  if (!answer->starts_with("+FULLRESYNC ") || !offset) {
    return tl::unexpected("it does not accept a replica (" + *answer +
                          "); without --live, its filters can be moved while nothing is added to them");
  }
  offset_ = *offset;
  return {};
}

// Empty lines come first, as signs of life, then a line with the number of bytes.
core::Outcome<void> ReplicationFeed::ReceiveRdb(const Progress& progress) {
  std::string line;
  const auto give_up = Clock::now() + kPatienceWithFork;
  while (line.empty()) {
    if (Clock::now() > give_up) return tl::unexpected<std::string>("it sent no data in time");
    connection_.set_deadline(Clock::now() + kPatience);
    auto read = ReadLine();
    if (!read) return tl::unexpected(read.error());
    line = std::move(*read);
  }
  const auto total = line.starts_with('$') ? core::ParseUnsigned(line.substr(1)) : std::nullopt;
  if (!total) return tl::unexpected("it sent \"" + line + "\" instead of its data");
  for (uint64_t left = *total; left > 0;) {
    if (buffer_.empty()) {
      connection_.set_deadline(Clock::now() + kPatience);
      if (auto filled = Fill(); !filled) return filled;
    }
    const std::string_view part = std::string_view(buffer_).substr(0, left);
    if (auto kept = rdb_.Append(part); !kept) return kept;
    left -= part.size();
    buffer_.erase(0, part.size());
    progress(*total - left, *total);
  }
  offset_ += buffer_.size();
  auto kept = changes_.Append(std::exchange(buffer_, {}));
  return kept ? Acknowledge() : kept;
}

core::Outcome<void> ReplicationFeed::Acknowledge() {
  acknowledged_ = Clock::now();
  connection_.set_deadline(acknowledged_ + kPatience);
  std::string command;
  AppendCommand(command, {"REPLCONF", "ACK", std::to_string(offset_)});
  return connection_.Send(command);
}

core::Outcome<void> ReplicationFeed::Receive(Deadline until) {
  std::array<char, 64 << 10> room;
  while (true) {
    const auto received = connection_.ReceiveUntil(room, until);
    if (!received) return tl::unexpected("the old server: " + received.error());
    if (*received != 0) {
      offset_ += *received;
      if (auto kept = changes_.Append({room.data(), *received}); !kept) return kept;
      until = Clock::now();  // and what else is there
    }
    if (Clock::now() - acknowledged_ > kBetweenAcknowledgements) {
      if (auto sent = Acknowledge(); !sent) return tl::unexpected("the old server: " + sent.error());
    }
    if (*received == 0) return {};
  }
}

core::Outcome<std::optional<std::vector<std::string>>> ReplicationFeed::Next() {
  while (true) {
    auto change = reader_.Next();
    if (!change) return tl::unexpected("the old server: " + change.error());
    if (*change) {
      std::vector<std::string> words;
      for (Reply& word : (*change)->elements) words.push_back(std::move(word.text));
      return words;
    }
    const auto bytes = changes_.Take(room_);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) return std::nullopt;
    reader_.Feed(*bytes);
  }
}

}  // namespace bitsieve::cli
