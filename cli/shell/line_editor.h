// line_editor.h: a line as a person types it at a terminal, with history, Tab and a dim hint after the cursor: libedit,
// which knows no hints itself. ~/.editrc sets the keys, as for other programs of libedit. Confined to the main thread.
#pragma once

#include <histedit.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/shell/suggestions.h"

namespace bitsieve::cli {

class LineEditor {
 public:
  struct Suggestions {
    std::function<std::string(std::string_view line)> hint;
    std::function<Completion(std::string_view line)> complete;
  };

  // Reads from standard input and draws on standard output, which are a terminal.
  explicit LineEditor(Suggestions suggestions);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Returns a line without its end, an empty one after Ctrl-C; nothing at the end of input.
  std::optional<std::string> ReadLine(const std::string& prompt);
  void AddToHistory(const std::string& line);

 private:
  struct Closer {
    void operator()(EditLine* editor) const { el_end(editor); }
    void operator()(History* history) const { history_end(history); }
  };

  static LineEditor& Of(EditLine* editor);
  static char* PromptOf(EditLine* editor);
  static int ReadCharacter(EditLine* editor, wchar_t* character);
  static unsigned char CompleteWord(EditLine* editor, wint_t key);

  int ReadWithHint(wchar_t* character);
  void PrepareTerminal();
  unsigned char Complete();
  // Returns the hint as far as it fits in the terminal's line; empty unless the cursor is at the end.
  std::string VisibleHint() const;

  Suggestions suggestions_;
  std::string prompt_;
  std::unique_ptr<History, Closer> history_;
  std::unique_ptr<EditLine, Closer> editor_;
};

}  // namespace bitsieve::cli
