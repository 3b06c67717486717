// Whatever text a configuration file has, reading it ends with values or problems; and in one without problems, options
// can be given other values, after which it has no problems and gives these values.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.h"
#include "config/config_members.h"
#include "config/option_table.h"

namespace bitsieve::config {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Check(std::string_view input) {
  const std::string json(input);
  for (const ConfigMember& member : MembersOf(json).members) {
    Require(member.begin <= member.value_begin && member.value_begin <= member.value_end &&
            member.value_end <= json.size());
  }
  if (!ParseConfigText(json).problems.empty()) return;
  Options options;
  options.timeout = 5;
  options.maxmemory = 7ULL << 30;
  options.dir = "a \"b\" /* c";
  const std::vector<const OptionRow*> rows = {FindOption("timeout"), FindOption("maxmemory"), FindOption("dir")};
  const auto changed = WithValues(json, rows, options);
  Require(changed.has_value());
  Require(WithValues(*changed, rows, options) == changed);
}

}  // namespace
}  // namespace bitsieve::config

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::config::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
