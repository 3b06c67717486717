#include "tests/simulation/processor_clock.h"

#if defined(__x86_64__)

#include <sys/prctl.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <cstring>

#include "tests/simulation/scheduler.h"

namespace bitsieve::simulation {
namespace {

constexpr unsigned char kRdtsc[] = {0x0f, 0x31};
constexpr unsigned char kRdtscp[] = {0x0f, 0x01, 0xf9};

// Any other fault is one: it happens again, and ends the process.
void OnRefused(int signal, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const instruction = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  size_t length = 0;
  if (std::memcmp(instruction, kRdtsc, sizeof kRdtsc) == 0) length = sizeof kRdtsc;
  if (length == 0 && std::memcmp(instruction, kRdtscp, sizeof kRdtscp) == 0) length = sizeof kRdtscp;
  if (length == 0) {
    std::signal(signal, SIG_DFL);
    return;
  }
  Scheduler* const scheduler = Scheduler::Current();
  const uint64_t ticks = scheduler == nullptr ? 0 : scheduler->ReadTicks();
  registers[REG_RAX] = static_cast<greg_t>(ticks & 0xffffffff);
  registers[REG_RDX] = static_cast<greg_t>(ticks >> 32);
  registers[REG_RIP] += static_cast<greg_t>(length);
}

}  // namespace

void SimulateProcessorClock() {
  struct sigaction action {};
  action.sa_sigaction = OnRefused;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

}  // namespace bitsieve::simulation

#else

namespace bitsieve::simulation {

void SimulateProcessorClock() {}

}  // namespace bitsieve::simulation

#endif
