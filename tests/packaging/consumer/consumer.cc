#include <bitsieve/commands/filter_commands.h>
#include <bitsieve/core/filter/filter_factory.h>

#include <iostream>

// A parameter that is not used must be no error, as in any program.
static int Count(int unused) { return static_cast<int>(bitsieve::core::FilterTypes().size()); }

int main() {
  bitsieve::core::MemoryBudget budget;
  const auto filter = bitsieve::core::MakeFilter({.capacity = 1000}, budget, bitsieve::core::SystemClock());
  const auto hash = (*filter)->HashOf("alice");
  bitsieve::core::AddOutcome outcome{};
  (*filter)->Add({&hash, 1}, {&outcome, 1});
  uint8_t present = 0;
  (*filter)->MayContain({&hash, 1}, {&present, 1});
  std::cout << "found " << int{present} << " of 1; " << Count(0) << " filter types, "
            << bitsieve::commands::BloomCommands().size() << " commands\n";
  return present == 1 ? 0 : 1;
}
