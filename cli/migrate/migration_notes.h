// migration_notes.h: which filters a migration has begun to move, in a file, so that an interrupted one can go on. A
// filter appears on the new server only as a whole: one that was begun and is there was moved. Confined to one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/base/result.h"

namespace bitsieve::cli {

class MigrationNotes {
 public:
  // Reads the file, if there is one. `migration` says what is moved where: the error is that it is another one's.
  static core::Outcome<MigrationNotes> Open(const std::string& path, const std::string& migration);
  MigrationNotes(MigrationNotes&& other) noexcept;
  MigrationNotes& operator=(MigrationNotes&&) = delete;
  ~MigrationNotes();

  bool Contains(std::string_view filter) const { return begun_.contains(Line(filter)); }
  core::Outcome<void> Add(std::string_view filter);
  // All is done.
  void Remove();

 private:
  MigrationNotes(std::string path, int descriptor, std::unordered_set<std::string> begun);
  static std::string Line(std::string_view filter);
  core::Outcome<void> Write(std::string line);

  std::string path_;
  int descriptor_;
  std::unordered_set<std::string> begun_;
};

}  // namespace bitsieve::cli
