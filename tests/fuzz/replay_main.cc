// Runs a fuzz target over every input of the archives given, so that what fuzzing once found stays tested without a
// fuzzer. Fails if an archive cannot be read, or holds no input: then the corpus was lost, not passed.
#include <archive.h>
#include <archive_entry.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

struct Closer {
  void operator()(archive* opened) const { archive_read_free(opened); }
};

// Returns the number of inputs; negative if the archive cannot be read to its end.
long Replay(const char* path) {
  const std::unique_ptr<archive, Closer> opened(archive_read_new());
  archive_read_support_format_tar(opened.get());
  if (archive_read_open_filename(opened.get(), path, 1 << 20) != ARCHIVE_OK) return -1;
  archive_entry* entry = nullptr;
  long inputs = 0;
  int status = ARCHIVE_OK;
  for (; (status = archive_read_next_header(opened.get(), &entry)) == ARCHIVE_OK; ++inputs) {
    std::string bytes(static_cast<size_t>(archive_entry_size(entry)), '\0');
    if (archive_read_data(opened.get(), bytes.data(), bytes.size()) != static_cast<la_ssize_t>(bytes.size())) return -1;
    // Printed before it runs: if it crashes, the last name is the culprit.
    std::printf("%s: %s\n", path, archive_entry_pathname(entry));
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return status == ARCHIVE_EOF ? inputs : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s ARCHIVE...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    const long inputs = Replay(argv[i]);
    if (inputs <= 0) {
      std::fprintf(stderr, "%s: %s\n", argv[i], inputs == 0 ? "no input to replay" : "not a whole archive");
      return 1;
    }
    std::printf("%s: %ld inputs replayed\n", argv[i], inputs);
  }
  return 0;
}
