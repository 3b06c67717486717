#include "cli/shell/next_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/base/join.h"
#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

using commands::ArgumentDoc;

// One word of an argument.
struct Part {
  std::string text;  // a literal, or the name of a value
  bool is_literal;
  bool is_key = false;

  bool Fits(const std::string& word) const { return !is_literal || core::EqualsIgnoringCase(text, word); }
};
// A way to write an argument: "COUNTERBITS 4".
using Form = std::vector<Part>;

std::vector<Form> FormsOf(const ArgumentDoc& argument);

// Each way to write the arguments one after the other.
std::vector<Form> Sequences(const std::vector<ArgumentDoc>& arguments) {
  std::vector<Form> sequences(1);
  for (const ArgumentDoc& argument : arguments) {
    std::vector<Form> longer;
    for (const Form& begin : sequences) {
      for (const Form& end : FormsOf(argument)) {
        longer.push_back(begin);
        longer.back().insert(longer.back().end(), end.begin(), end.end());
      }
    }
    sequences = std::move(longer);
  }
  return sequences;
}

std::vector<Form> ValuesOf(const ArgumentDoc& argument) {
  if (argument.type == "block") return Sequences(argument.arguments);
  if (argument.type != "oneof") return {{Part{argument.name, false, argument.type == "key"}}};
  std::vector<Form> forms;
  for (const ArgumentDoc& choice : argument.arguments) {
    // After a token the choices are written as they are, in lower case too: HASH <xxh3 | sip>.
    const bool is_value = !argument.token.empty() && choice.type == "string" && choice.token.empty();
    const std::vector<Form> of_choice = is_value ? std::vector<Form>{{Part{choice.name, true}}} : FormsOf(choice);
    forms.insert(forms.end(), of_choice.begin(), of_choice.end());
  }
  return forms;
}

std::vector<Form> FormsOf(const ArgumentDoc& argument) {
  if (argument.type == "pure-token") return {{Part{argument.token, true}}};
  std::vector<Form> forms = ValuesOf(argument);
  if (argument.token.empty()) return forms;
  for (Form& form : forms) form.insert(form.begin(), Part{argument.token, true});
  return forms;
}

// Returns the words of a form from `from` on; of several forms those that they share, and then a choice.
std::string TextOf(std::span<const Form> forms, size_t from) {
  const auto is_shared = [&](const Form& form) { return form.size() > from && form[from].text == forms[0][from].text; };
  if (forms[0].size() > from && std::ranges::all_of(forms, is_shared)) {
    return core::Join(std::array{forms[0][from].text, TextOf(forms, from + 1)}, " ");
  }
  if (forms.size() == 1) return "";
  std::vector<std::string> texts;
  for (const Form& form : forms) texts.push_back(TextOf({&form, 1}, from));
  return "<" + core::Join(texts, " | ") + ">";
}

// An argument of the syntax that can still be typed.
struct Pending {
  explicit Pending(const ArgumentDoc& argument)
      : forms(FormsOf(argument)), is_optional(argument.optional), is_multiple(argument.multiple) {
    text = TextOf(forms, 0);
    const std::vector<Form> repeated = ValuesOf(argument);
    repeated_text = "[" + TextOf(repeated, 0) + " ...]";
    if (is_multiple) text += " " + repeated_text;
    const bool is_choice = text.starts_with('<') && text.ends_with('>');
    if (is_optional) text = "[" + (is_choice ? text.substr(1, text.size() - 2) : text) + "]";
    if (is_multiple) repeated_forms = repeated;
  }

  // Records that it was typed: then it may be typed again, or is done with.
  void Take() {
    forms = is_multiple ? repeated_forms : std::vector<Form>();
    text = is_multiple ? repeated_text : "";
    is_optional = true;
  }

  // Whether `word` can be its first word; only a literal stands for itself.
  bool BeginsWith(const std::string& word, bool is_literal) const {
    return std::ranges::any_of(
        forms, [&](const Form& form) { return form.front().is_literal == is_literal && form.front().Fits(word); });
  }

  std::vector<Form> forms;
  std::string text;
  bool is_optional;
  bool is_multiple;
  std::vector<Form> repeated_forms = {};
  std::string repeated_text = {};
};

// Returns the forms that begin with these words, and those with which these words begin.
std::vector<Form> Fitting(const std::vector<Form>& forms, std::span<const std::string> words) {
  std::vector<Form> fitting;
  std::ranges::copy_if(forms, std::back_inserter(fitting), [words](const Form& form) {
    const size_t compared = std::min(form.size(), words.size());
    return std::ranges::equal(std::span(form).first(compared), words.first(compared),
                              [](const Part& part, const std::string& word) { return part.Fits(word); });
  });
  return fitting;
}

class Walk {
 public:
  explicit Walk(std::span<const ArgumentDoc> syntax) : pending_(syntax.begin(), syntax.end()) {}

  NextWords After(std::span<const std::string> words) {
    while (!words.empty()) {
      const size_t at = ArgumentOf(words.front());
      if (at == pending_.size()) return {};
      const std::vector<Form> forms = Fitting(pending_[at].forms, words);
      if (forms.empty()) return {};
      const bool is_positional = !forms.front().front().is_literal || !pending_[at].is_optional;
      pending_[at].Take();
      if (is_positional) first_ = at;  // options before it can no longer be given
      if (forms.front().size() > words.size()) return Within(forms, words.size());
      words = words.subspan(forms.front().size());
    }
    return AtStart();
  }

 private:
  // Options come in any order, up to the next argument that is required.
  size_t EndOfChoice() const {
    size_t end = first_;
    while (end < pending_.size() && pending_[end].is_optional) ++end;
    return std::min(end + 1, pending_.size());
  }

  size_t ArgumentOf(const std::string& word) const {
    for (const bool is_literal : {true, false}) {
      for (size_t i = first_; i < EndOfChoice(); ++i) {
        if (pending_[i].BeginsWith(word, is_literal)) return i;
      }
    }
    return pending_.size();
  }

  std::string RestText() const {
    std::vector<std::string> texts;
    for (size_t i = first_; i < pending_.size(); ++i) texts.push_back(pending_[i].text);
    return core::Join(texts, " ");
  }

  static void Offer(const Part& part, NextWords& next) {
    next.is_key = next.is_key || part.is_key;
    if (part.is_literal) next.literals.push_back(part.text);
  }

  NextWords AtStart() const {
    NextWords next{.hint = RestText()};
    for (size_t i = first_; i < EndOfChoice(); ++i) {
      for (const Form& form : pending_[i].forms) Offer(form.front(), next);
    }
    return next;
  }

  NextWords Within(std::span<const Form> forms, size_t typed) const {
    NextWords next{.hint = core::Join(std::array{TextOf(forms, typed), RestText()}, " ")};
    for (const Form& form : forms) {
      if (form.size() > typed) Offer(form[typed], next);
    }
    return next;
  }

  std::vector<Pending> pending_;
  size_t first_ = 0;  // arguments before it are done with
};

}  // namespace

NextWords NextWordsOf(std::span<const ArgumentDoc> syntax, std::span<const std::string> words) {
  NextWords next = Walk(syntax).After(words);
  // Options with a choice of values begin with one word in several forms.
  const auto repeated = std::ranges::unique(next.literals);
  next.literals.erase(repeated.begin(), repeated.end());
  return next;
}

}  // namespace bitsieve::cli
