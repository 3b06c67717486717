// interrupts.h: Ctrl-C while the shell runs: it ends a wait or clears the line, and not the program. Signals belong to
// the process, so all of it is static. Confined to the main thread.
#pragma once

namespace bitsieve::cli {

class Interrupts {
 public:
  // From now on Ctrl-C is only remembered. A read that it interrupts fails with EINTR, and so does one during which the
  // program was stopped and continued.
  static void Catch();
  static bool IsPending();
  static void Clear();
};

}  // namespace bitsieve::cli
