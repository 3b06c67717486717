#include "commands/command.h"

#include <chrono>
#include <thread>

#include "core/filter/image_pressure.h"

namespace bitsieve::commands {

void CommandContext::AwaitImageAside(const core::Filter& changed) {
  constexpr std::chrono::milliseconds kInterval{2};
  while (core::ImagePressure::AnyReading() && core::ImagePressure::MustWait(changed)) {
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace bitsieve::commands
