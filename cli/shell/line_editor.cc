#include "cli/shell/line_editor.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <new>
#include <utility>

#include "cli/shell/history_file.h"
#include "cli/shell/interrupts.h"
#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

constexpr std::string_view kDim = "\x1b[90m";
constexpr std::string_view kNormal = "\x1b[0m";
constexpr std::string_view kClearToEnd = "\x1b[K";

size_t TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

// Counts each character of UTF-8 as one column.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

void Draw(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool HasInput() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

// Reads one character in the encoding of the locale, as libedit's own function does. Returns 1, or 0 at the end of
// input, or -1.
int ReadFromTerminal(wchar_t* character) {
  std::mbstate_t state{};
  while (true) {
    char byte = 0;
    const ssize_t size = read(STDIN_FILENO, &byte, 1);
    if (size != 1) return static_cast<int>(size);
    const size_t converted = std::mbrtowc(character, &byte, 1, &state);
    if (converted <= 1) return 1;
    if (converted != static_cast<size_t>(-2)) state = {};  // a byte that begins no character is ignored
  }
}

std::string CommonBegin(const std::vector<std::string>& words) {
  std::string begin = words.front();
  for (const std::string& word : words) {
    const auto differs = std::ranges::mismatch(begin, word).in1;
    begin.erase(differs, begin.end());
  }
  return begin;
}

// Returns the words in as many columns as the terminal has room for.
std::string ListText(const std::vector<std::string>& words) {
  constexpr size_t kMaxWords = 200;
  const size_t width = std::ranges::max(words, {}, &std::string::size).size() + 2;
  const size_t in_line = std::max<size_t>(TerminalColumns() / width, 1);
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), kMaxWords); ++i) {
    if (i % in_line == 0) text += '\n';
    text += words[i] + std::string(width - words[i].size(), ' ');
  }
  if (words.size() > kMaxWords) text += "\n... and " + std::to_string(words.size() - kMaxWords) + " more";
  return text + "\n";
}

}  // namespace

LineEditor::LineEditor(Suggestions suggestions) : suggestions_(std::move(suggestions)), history_(history_init()) {
  std::setlocale(LC_CTYPE, "");
  editor_.reset(el_init("bitsieve", stdin, stdout, stderr));
  if (history_ == nullptr || editor_ == nullptr) throw std::bad_alloc();
  HistEvent event;
  history(history_.get(), &event, H_SETSIZE, static_cast<int>(HistoryFile::kMaxLines));
  history(history_.get(), &event, H_SETUNIQUE, 1);
  EditLine* const editor = editor_.get();
  el_set(editor, EL_CLIENTDATA, this);
  el_set(editor, EL_PROMPT, &LineEditor::PromptOf);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_HIST, history, history_.get());
  el_set(editor, EL_GETCFN, &LineEditor::ReadCharacter);
  // The call for narrow characters would copy these texts and never free them.
  el_wset(editor, EL_ADDFN, L"complete-word", L"Completes the word before the cursor", &LineEditor::CompleteWord);
  el_set(editor, EL_BIND, "^I", "complete-word", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(editor, nullptr);
}

std::optional<std::string> LineEditor::ReadLine(const std::string& prompt) {
  prompt_ = prompt;
  el_resize(editor_.get());
  int size = 0;
  const char* const line = el_gets(editor_.get(), &size);
  if (line != nullptr && size > 0) {
    const std::string_view text(line, static_cast<size_t>(size));
    return std::string(text.substr(0, text.find_last_not_of('\n') + 1));
  }
  Draw(Interrupts::IsPending() ? "^C\n" : "\n");
  if (!Interrupts::IsPending()) return std::nullopt;
  Interrupts::Clear();
  return "";
}

void LineEditor::AddToHistory(const std::string& line) {
  HistEvent event;
  history(history_.get(), &event, H_ENTER, line.c_str());
}

LineEditor& LineEditor::Of(EditLine* editor) {
  void* self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  return *static_cast<LineEditor*>(self);
}

char* LineEditor::PromptOf(EditLine* editor) { return Of(editor).prompt_.data(); }

int LineEditor::ReadCharacter(EditLine* editor, wchar_t* character) { return Of(editor).ReadWithHint(character); }

unsigned char LineEditor::CompleteWord(EditLine* editor, wint_t) { return Of(editor).Complete(); }

// libedit has drawn the line when it asks for a character, so that a hint can be drawn after it and be erased again
// before libedit draws the next change.
int LineEditor::ReadWithHint(wchar_t* character) {
  const std::string hint = HasInput() ? "" : VisibleHint();
  if (!hint.empty()) {
    Draw(std::string(kDim) + hint + std::string(kNormal) + "\x1b[" + std::to_string(ColumnsOf(hint)) + "D");
  }
  int count = ReadFromTerminal(character);
  while (count < 0 && errno == EINTR && !Interrupts::IsPending()) {
    PrepareTerminal();
    count = ReadFromTerminal(character);
  }
  if (!hint.empty()) Draw(kClearToEnd);
  return count;
}

// While the program was stopped, another one may have left the terminal in another mode.
void LineEditor::PrepareTerminal() {
  el_set(editor_.get(), EL_PREP_TERM, 0);
  el_set(editor_.get(), EL_PREP_TERM, 1);
  el_set(editor_.get(), EL_REFRESH);
}

std::string LineEditor::VisibleHint() const {
  const LineInfo* const line = el_line(editor_.get());
  if (line->cursor != line->lastchar) return "";
  const std::string_view text(line->buffer, static_cast<size_t>(line->lastchar - line->buffer));
  if (text.find('\n') != std::string_view::npos) return "";  // libedit's search in the history
  const std::string hint = suggestions_.hint(text);
  const size_t columns = TerminalColumns();
  const size_t room = columns - (ColumnsOf(prompt_) + ColumnsOf(text)) % columns - 1;
  return hint.substr(0, room);
}

unsigned char LineEditor::Complete() {
  const LineInfo* const line = el_line(editor_.get());
  const std::string_view typed(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
  const Completion completion = suggestions_.complete(typed);
  if (completion.words.empty()) return CC_REFRESH_BEEP;
  const std::string begin = CommonBegin(completion.words);
  const bool is_only = completion.words.size() == 1;
  const std::string_view replaced = typed.substr(typed.size() - completion.replaced);
  if (!is_only && (begin.size() < replaced.size() || begin == replaced)) {
    Draw(ListText(completion.words));
    return CC_REDISPLAY;
  }
  el_deletestr(editor_.get(), static_cast<int>(ColumnsOf(replaced)));
  el_insertstr(editor_.get(), (begin + (is_only ? " " : "")).c_str());
  return CC_REFRESH;
}

}  // namespace bitsieve::cli
