#include "config/config_members.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/config_file.h"
#include "config/option_table.h"
#include "core/base/quote.h"

namespace bitsieve::config {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
// To the library, for a comment.
constexpr std::string_view kEndsOfLine("\n\r\0", 3);
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The library decides whether the text is valid JSON; this scanner finds places, and reads to the end in any case.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  ConfigMembers Run() {
    ConfigMembers found;
    SkipTo('{');
    ++at_;
    content_end_ = found.begin = std::min(at_, text_.size());
    for (SkipBlanks(); at_ < text_.size() && text_[at_] != '}'; SkipBlanks()) {
      if (text_[at_] == '"') {
        found.members.push_back(Member());
      } else {
        ++at_;  // a comma
      }
    }
    found.content_end = content_end_;
    found.end = std::min(at_, text_.size());
    return found;
  }

 private:
  ConfigMember Member() {
    ConfigMember member;
    member.begin = at_;
    line_ += static_cast<size_t>(std::count(text_.begin() + static_cast<ptrdiff_t>(counted_),
                                            text_.begin() + static_cast<ptrdiff_t>(at_), '\n'));
    counted_ = at_;
    member.line = line_;
    SkipString();
    const auto key = nlohmann::json::parse(text_.substr(member.begin, at_ - member.begin), nullptr, false);
    if (key.is_string()) member.key = key.get<std::string>();
    SkipTo(':');
    ++at_;
    SkipBlanks();
    member.value_begin = std::min(at_, text_.size());
    SkipValue();
    content_end_ = member.value_end = std::min(at_, text_.size());
    return member;
  }

  bool Sees(std::string_view what) const { return at_ < text_.size() && text_.substr(at_).starts_with(what); }

  void SkipTo(char c) {
    for (SkipBlanks(); at_ < text_.size() && text_[at_] != c; SkipBlanks()) ++at_;
  }

  // And comments.
  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (Sees("//")) {
        at_ = std::min(text_.find_first_of(kEndsOfLine, at_), text_.size());
        if (at_ < text_.size() && text_[at_] == '\0') ++at_;  // allowed only there: it stays with the comment
        content_end_ = at_;
      } else if (Sees("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        content_end_ = at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (kBlanks.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
    ++at_;
  }

  void SkipValue() {
    size_t depth = 0;
    do {
      SkipBlanks();
      if (at_ >= text_.size()) return;
      if (text_[at_] == '"') {
        SkipString();
      } else if (text_[at_] == '{' || text_[at_] == '[') {
        ++depth, ++at_;
      } else if (depth != 0 && (text_[at_] == '}' || text_[at_] == ']')) {
        --depth, ++at_;
      } else if (depth != 0) {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n/,}", at_), text_.size());
      }
    } while (depth != 0);
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t content_end_ = 0;
  size_t line_ = 1;  // of `counted_`
  size_t counted_ = 0;
};

// The value as people write it, secrets as they are.
std::string TextOf(const OptionRow& row, const Options& options) {
  const auto* const text = std::get_if<std::string Options::*>(&row.member);
  return text != nullptr ? options.**text : OptionReadableText(row, options);
}

core::Outcome<std::string> ToJson(const OptionRow& row, const Options& options) {
  const std::string text = TextOf(row, options);
  if (IsJsonNumber(row, text)) return text;
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return tl::unexpected(std::string(row.name) + " is not UTF-8, and JSON cannot hold it: " + core::Quoted(text));
  }
}

// Returns the indentation of the first member that has a line of its own; two spaces if there is none.
std::string IndentOf(std::string_view json, const ConfigMembers& found) {
  for (const ConfigMember& member : found.members) {
    const size_t line = json.rfind('\n', member.begin) + 1;
    const std::string_view before = json.substr(line, member.begin - line);
    if (line > found.begin && before.find_first_not_of(" \t") == std::string_view::npos) return std::string(before);
  }
  return "  ";
}

// Adds members at the object's end: in lines of their own, unless the object has but one line.
void Append(std::string& json, const std::vector<std::string>& added) {
  const ConfigMembers found = MembersOf(json);
  const std::string_view object = std::string_view(json).substr(found.begin, found.end - found.begin);
  const bool has_lines = found.members.empty() || object.find('\n') != std::string_view::npos;
  const std::string indent = has_lines ? IndentOf(json, found) : "";
  std::string text;
  for (const std::string& member : added) text += (text.empty() ? "" : has_lines ? ",\n" : ", ") + indent + member;
  if (!has_lines) {
    json.insert(found.members.back().value_end, ", " + text);
    return;
  }
  const size_t line_end = json.rfind('\n', found.end);
  const bool brace_has_line = line_end != std::string::npos && line_end >= found.content_end;
  json.insert(brace_has_line ? line_end + 1 : found.content_end, (brace_has_line ? "" : "\n") + text + "\n");
  if (!found.members.empty()) json.insert(found.members.back().value_end, ",");
}

bool Gives(const FileEntries& entries, const OptionRow& row, const Options& options) {
  const auto given = std::ranges::find(entries.values.rbegin(), entries.values.rend(), &row, &FileValue::row);
  Options as_given;
  return (given == entries.values.rend() || SetOption(row, given->text, as_given)) && IsSame(row, as_given, options);
}

// False: the text has no such member. The last one counts: names are the same in upper and lower case.
bool Replace(std::string& json, const OptionRow& row, const std::string& value) {
  const ConfigMembers found = MembersOf(json);
  const auto is_row = [&row](const ConfigMember& member) { return FindOption(member.key) == &row; };
  const auto member = std::ranges::find_if(found.members.rbegin(), found.members.rend(), is_row);
  if (member == found.members.rend()) return false;
  json.replace(member->value_begin, member->value_end - member->value_begin, value);
  return true;
}

}  // namespace

ConfigMembers MembersOf(std::string_view json) { return Scanner(json).Run(); }

core::Outcome<std::string> WithValues(const std::string& json, std::span<const OptionRow* const> rows,
                                      const Options& options) {
  const FileEntries entries = ParseConfigText(json);
  if (!entries.problems.empty()) {
    const FileProblem& first = entries.problems.front();
    return tl::unexpected((first.line == 0 ? "" : "line " + std::to_string(first.line) + ": ") + first.text);
  }
  std::string changed = json;
  std::vector<std::string> added;
  for (const OptionRow* const row : rows) {
    if (Gives(entries, *row, options)) continue;
    const auto value = ToJson(*row, options);
    if (!value) return value;
    if (!Replace(changed, *row, *value)) added.push_back(nlohmann::json(row->name).dump() + ": " + *value);
  }
  if (!added.empty()) Append(changed, added);
  const FileEntries after = ParseConfigText(changed);
  const auto is_given = [&](const OptionRow* row) { return Gives(after, *row, options); };
  if (after.problems.empty() && std::ranges::all_of(rows, is_given)) return changed;
  return tl::unexpected<std::string>("its values cannot be replaced in place");
}

}  // namespace bitsieve::config
