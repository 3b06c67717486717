#include "server/template_options.h"

namespace bitsieve::server {

tl::expected<FilterTemplates, std::vector<std::string>> TemplatesOf(const config::Options& options) {
  std::vector<TemplateEntry> entries;
  for (const config::FilterTemplate& each : options.templates) {
    entries.push_back({each.where, each.pattern, each.fields});
  }
  return FilterTemplates::Make(entries);
}

}  // namespace bitsieve::server
