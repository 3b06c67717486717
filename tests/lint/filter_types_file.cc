#include <string>

#include "core/base/json_writer.h"
#include "core/filter/filter_type.h"
#include "tests/lint/pages.h"
#include "tests/support/filter_types.h"

namespace bitsieve::lint {
namespace {

void AppendObject(const core::FilterTypeRow& type, std::string& file) {
  core::JsonWriter json(file);
  json.BeginObject();
  json.Member("name", type.name);
  json.Member("by_reserve", type.made.by_reserve);
  json.Member("by_default", type.made.by_default);
  json.Member("any_hash", type.made.any_hash);
  json.Member("grows", type.can.grow);
  json.Member("removes", type.can.remove);
  json.Member("counts", type.can.count);
  json.Member("freezes", type.can.freeze);
  json.Member("forgets", type.can.forget);
  json.Member("denies", type.can.deny);
  json.Member("merges", test::Merges(type));
  json.Member("maps", test::Maps(type));
  json.Key("needs");
  json.BeginArray();
  for (const core::TypeOption& option : type.options) {
    if (test::IsRequired(option)) json.Value(option.word);
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string FilterTypesFile() {
  std::string file;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    file += file.empty() ? "[\n" : ",\n";
    AppendObject(*type, file);
  }
  return file + "\n]\n";
}

}  // namespace bitsieve::lint
