#include "cli/shell/interrupts.h"

#include <csignal>

namespace bitsieve::cli {
namespace {

volatile std::sig_atomic_t is_pending = 0;

}  // namespace

void Interrupts::Catch() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_pending = 1; };
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = [](int) {};
  sigaction(SIGCONT, &action, nullptr);
}

bool Interrupts::IsPending() { return is_pending != 0; }

void Interrupts::Clear() { is_pending = 0; }

}  // namespace bitsieve::cli
