// client.h: a client of the simulation, over all lives of the server. It connects, sends its commands in pipelines of
// random length and in bytes of random portions, and checks every reply against its model.
// Confined to threads of the simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/common_items.h"
#include "tests/simulation/model.h"
#include "tests/simulation/random.h"
#include "tests/simulation/reply.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/wall_times.h"

namespace bitsieve::simulation {

// Ends the process with a message: the run has found a fault.
[[noreturn]] void FailRun(const std::string& message);

class Client {
 public:
  // All clients of a run share these.
  struct Surroundings {
    Scheduler& scheduler;
    WallClock& wall_clock;
    CommonItems& common_items;
    std::string socket_path;
  };

  Client(size_t number, size_t default_type, bool memory_is_refused, uint64_t seed, const Surroundings& surroundings);

  // Looks at everything that the model knows of; the server has just started. Stops when the server is gone.
  void Verify();
  // Sends the commands. Stops when the server is gone.
  void Run(const std::vector<Words>& commands);
  // The server is gone as of now: replies that have arrived count, and no later ones.
  void CutOff();

  // ---- Between lives

  struct StepTimes {
    int64_t sent_ns;
    int64_t replied_ns;
    bool changed;  // the reply reports a change
  };
  const std::vector<StepTimes>& steps() const { return steps_; }
  // Steps before WAITAOF reported them as synced.
  size_t synced_steps() const { return synced_steps_; }
  // The latest SAVE that succeeded was sent then; 0: none.
  int64_t saved_ns() const { return saved_ns_; }
  Model& model() { return model_; }
  // The server has crashed. See Model::Crash.
  void EndLife(size_t durable_steps, bool may_refuse);
  // The server crashed before everything was looked at.
  void EndVerification();
  void BeginLife();
  uint64_t commands() const { return commands_; }
  uint64_t lookups() const { return lookups_; }
  uint64_t without_memory() const { return without_memory_; }

 private:
  struct Sent {
    Words command;
    size_t replies;  // that are still to come
    int64_t sent_ns;
    int64_t wall_ms;
    std::vector<Reply> received;
  };

  bool Connect();
  void Close();
  void Send(const Words& command) { SendAs(command, command); }
  // Sends `words`, which are what the model knows as `command`.
  void SendAs(const Words& command, const Words& words);
  // Restores under the second name what a dump of the first returns: as a whole, or chunk by chunk. False if the server
  // is gone.
  bool Duplicate(const std::string& from, const std::string& to);
  bool DuplicateByChunks(const std::string& from, const std::string& to);
  bool SendBytes(std::string_view bytes);
  // Waits for replies until at most `left` commands are without one. False if the server is gone.
  bool AwaitReplies(size_t left);
  void ReceiveNow();
  void TakeReplies();
  void OnReply(const Sent& sent);
  void OnStep(const Step& step, const Reply& reply, const Sent& sent);
  void OnOtherReply(const Sent& sent, const Reply& reply);
  [[noreturn]] void Fail(const Sent& sent, const std::string& step, const Reply& reply) const;
  WallTimes TimesOf(const Sent& sent) const;
  bool IsGone() const { return is_cut_off_ || has_ended_; }

  const size_t number_;
  Random random_;
  const Surroundings& surroundings_;
  const uint64_t max_pipeline_;
  Model model_;
  int socket_ = -1;
  bool is_cut_off_ = false;
  bool has_ended_ = false;     // the server closed the connection
  bool is_verifying_ = false;  // the steps are not those of a life
  bool has_changed_ = false;   // something, over this connection
  std::vector<Sent> sent_;     // without a reply, in order
  std::string received_;
  Reply latest_;  // of the commands of Duplicate
  std::vector<StepTimes> steps_;
  size_t synced_steps_ = 0;
  int64_t saved_ns_ = 0;
  uint64_t commands_ = 0;
  uint64_t lookups_ = 0;
  uint64_t without_memory_ = 0;
};

}  // namespace bitsieve::simulation
