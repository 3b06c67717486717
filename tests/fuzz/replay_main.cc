// Runs a fuzz target over every file of the folders given, so that what fuzzing once found stays tested without a
// fuzzer. Fails if a folder holds no file: then the corpus was lost, not passed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

size_t Replay(const std::filesystem::path& folder) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    // Printed before it runs: if it crashes, the last name is the culprit.
    std::printf("%s\n", entry.path().c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    const size_t files = Replay(argv[i]);
    if (files == 0) {
      std::fprintf(stderr, "%s: no file to replay\n", argv[i]);
      return 1;
    }
    std::printf("%s: %zu files replayed\n", argv[i], files);
  }
  return 0;
}
