#include "server/settings.h"

#include "core/filter/filter_type.h"

namespace bitsieve::server {

void Fill(CommandSettings& settings, const config::Options& options) {
  settings.default_type = core::FindFilterType(options.default_type)->type;
  settings.default_error_rate = options.default_error_rate;
  settings.default_capacity = options.default_capacity;
  settings.default_expansion = options.default_expansion;
  settings.cf_bucket_size = options.cf_bucket_size;
  settings.cf_initial_size = options.cf_initial_size;
  settings.cf_max_iterations = options.cf_max_iterations;
  settings.cf_expansion_factor = options.cf_expansion_factor;
  settings.cf_max_expansions = options.cf_max_expansions;
  settings.max_queued_bytes = options.max_request_bytes;
}

void Fill(NetSettings& settings, const config::Options& options) {
  settings.maxclients = options.maxclients;
  settings.timeout_s = options.timeout;
  settings.tcp_keepalive_s = options.tcp_keepalive;
  settings.output_limit_bytes = options.client_output_buffer_limit;
}

void Fill(protocol::RequestLimits& limits, const config::Options& options) {
  limits = {.max_line_bytes = options.max_line_bytes,
            .max_arguments = options.max_arguments,
            .max_argument_bytes = options.max_argument_bytes,
            .max_request_bytes = options.max_request_bytes};
}

tl::expected<FilterTemplates, std::vector<std::string>> TemplatesOf(const config::Options& options) {
  std::vector<TemplateEntry> entries;
  for (const config::FilterTemplate& each : options.templates) {
    entries.push_back({each.where, each.pattern, each.fields});
  }
  return FilterTemplates::Make(entries);
}

}  // namespace bitsieve::server
