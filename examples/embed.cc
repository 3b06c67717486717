// Prints each line of its input that it has not printed before, in this run or an earlier one. A filter in a file
// remembers the printed lines, in ten bits each.
//
//     c++ -std=c++20 embed.cc $(pkg-config --cflags --libs bitsieve) -o embed
//     ./embed seen.bsf < lines
//
// At most one new line in a hundred is taken for a known one: that is the filter's error rate.
#include <bitsieve/filter.h>
#include <sys/stat.h>

#include <iostream>
#include <string>

using bitsieve::Filter;

namespace {

int Fail(const bitsieve::Error& error) {
  std::cerr << "embed: " << error.message << '\n';
  return 1;
}

bool Exists(const char* path) {
  struct stat status;
  return ::stat(path, &status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed FILE < lines\n";
    return 2;
  }
  // The filter grows beyond its capacity if necessary, and keeps the error rate.
  bitsieve::Result<Filter> seen =
      Exists(argv[1]) ? Filter::Load(argv[1]) : Filter::Make({.error_rate = 0.01, .capacity = 100'000});
  if (!seen) return Fail(seen.error());
  for (std::string line; std::getline(std::cin, line);) {
    const bitsieve::Result<bool> is_new = seen->Add(line);
    if (!is_new) return Fail(is_new.error());
    if (*is_new) std::cout << line << '\n';
  }
  if (const bitsieve::Status saved = seen->Save(argv[1]); !saved) return Fail(saved.error());
}
