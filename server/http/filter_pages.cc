#include "server/http/filter_pages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "commands/followed_filters.h"
#include "core/base/parse.h"
#include "core/filter/change_history.h"
#include "server/http/admin_router.h"
#include "server/http/byte_range.h"
#include "server/http/dump_source.h"
#include "server/http/gzip_source.h"
#include "server/keyspace/keyspace.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr std::string_view kBytes = "application/octet-stream";
constexpr const char* kPosition = "Bitsieve-Position";
constexpr const char* kMore = "Bitsieve-More";
// Up to this share of set bits, or of slots in use, gzip makes a dump clearly smaller.
constexpr double kSparse = 0.15;
constexpr uint64_t kWorthGzip = 4096;

// Returns whether a list such as `W/"a", "b"` names one of these. Tags have no commas here.
bool Names(std::string_view list, std::string_view tag, std::string_view other) {
  if (list == "*") return true;
  while (!list.empty()) {
    std::string_view each = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), each.size() + 1));
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == tag || each == other) return true;
  }
  return false;
}

// Returns whether a header such as "br, gzip;q=0.5" takes gzip.
bool TakesGzip(std::string_view accepted) {
  const std::string text = core::LowerCase(accepted);
  std::string_view list = text;
  while (!list.empty()) {
    const std::string_view each = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), each.size() + 1));
    const size_t first = each.find_first_not_of(' ');
    if (first == std::string_view::npos || !each.substr(first).starts_with("gzip")) continue;
    const std::string_view weight = each.substr(first + 4);
    const size_t q = weight.find("q=");
    return q == std::string_view::npos ? weight.find_first_not_of(' ') == std::string_view::npos
                                       : weight.substr(q + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

bool IsFrozen(const core::FilterInfo& info) { return info.freeze.state == core::FreezeState::kFrozen; }

bool IsSparse(const core::FilterInfo& info) {
  return info.size_bytes >= kWorthGzip && info.fill_ratio <= kSparse && !IsFrozen(info);
}

// A frozen filter changes only when another takes its name, so that caches may use it for a while. Any other one is
// used for a second, and then again if the server says that it has not changed. No time at all would be worse: nginx,
// for one, keeps nothing then.
const char* CachingOf(const core::FilterInfo& info, bool is_public) {
  if (!is_public) return "private, no-cache";
  return IsFrozen(info) ? "public, max-age=60" : "public, max-age=1";
}

// The dump from which the response is made, and the tags of its forms.
struct Copy {
  std::shared_ptr<DumpSource> source;
  std::string tag;
  std::string gzip_tag;
  bool as_gzip = false;
};

// A part of the dump; always of its plain form.
AdminResponse PartOf(Copy& copy, const ByteRange& range) {
  const std::string total = std::to_string(copy.source->total_bytes());
  if (range.bytes() == 0) {
    AdminResponse response = Refusal(416, "the range is not within the " + total + " bytes of the filter");
    response.headers.emplace_back("Content-Range", "bytes */" + total);
    return response;
  }
  copy.source->Choose(range);
  AdminResponse response{.status = 206, .rest = copy.source, .rest_bytes = range.bytes()};
  response.headers.emplace_back(
      "Content-Range", "bytes " + std::to_string(range.begin) + "-" + std::to_string(range.end - 1) + "/" + total);
  response.headers.emplace_back("ETag", copy.tag);
  return response;
}

AdminResponse WholeOf(const Copy& copy) {
  AdminResponse response;
  response.headers.emplace_back("ETag", copy.as_gzip ? copy.gzip_tag : copy.tag);
  if (copy.as_gzip) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.rest = std::make_shared<GzipSource>(copy.source);
  } else {
    response.rest = copy.source;
    response.rest_bytes = copy.source->total_bytes();
  }
  return response;
}

AdminResponse ResponseOf(const AdminRequest& request, Copy& copy) {
  if (Names(request.if_none_match, copy.tag, copy.gzip_tag)) {
    return {.status = 304, .headers = {{"ETag", copy.as_gzip ? copy.gzip_tag : copy.tag}}};
  }
  const bool is_same = request.if_range.empty() || request.if_range == copy.tag;
  if (!request.range.empty() && is_same) {
    if (const auto range = ParseByteRange(request.range, copy.source->total_bytes())) return PartOf(copy, *range);
  }
  return WholeOf(copy);
}

AdminResponse Preflight() {
  return {.status = 204,
          .headers = {{"Access-Control-Allow-Methods", "GET, HEAD"},
                      {"Access-Control-Allow-Headers", "Authorization, If-None-Match, If-Range, Range, Cache-Control"},
                      {"Access-Control-Max-Age", "86400"}}};
}

}  // namespace

std::optional<FilterPath> ParseFilterPath(std::string_view target) {
  constexpr std::string_view kChanges = "/changes";
  if (!target.starts_with(kFiltersPath)) return std::nullopt;
  std::string_view path = target.substr(0, target.find('?')).substr(kFiltersPath.size());
  const bool of_changes = path.ends_with(kChanges);
  if (of_changes) path.remove_suffix(kChanges.size());
  if (path.empty() || path.find('/') != std::string_view::npos) return std::nullopt;
  auto name = core::PercentDecoded(path);
  if (!name) return std::nullopt;
  return FilterPath{std::move(*name), of_changes};
}

void FilterPages::Configure(FilterPageSettings settings) {
  const core::LockGuard lock(mutex_);
  settings_ = std::move(settings);
}

AdminResponse FilterPages::Answer(const AdminRequest& request) const {
  FilterPageSettings settings;
  {
    const core::LockGuard lock(mutex_);
    settings = settings_;
  }
  AdminResponse response = Find(request, settings);
  if (settings.are_served && !settings.origin.empty()) {
    response.headers.emplace_back("Access-Control-Allow-Origin", settings.origin);
    response.headers.emplace_back("Access-Control-Expose-Headers", "ETag, Bitsieve-Position, Bitsieve-More");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "cross-origin");
  }
  return response;
}

AdminResponse FilterPages::Find(const AdminRequest& request, const FilterPageSettings& settings) const {
  if (!settings.are_served) return Refusal(404, "filters are not served here: the option admin-filters is no");
  if (request.method == "OPTIONS" && !settings.origin.empty()) return Preflight();
  if (request.method != "GET" && request.method != "HEAD") return MethodRefusal();
  const auto path = ParseFilterPath(request.target);
  if (!path)
    return Refusal(404, "no such page; a filter is at /filters/NAME, with /, % and ? in NAME as %2F, %25, %3F");
  const std::string_view command = path->of_changes ? "bf.changes" : "bf.follow";
  const Admission admission = AdmitToFilter(access_, request, command, path->name, settings.origin == "*");
  if (auto refusal = RefusalOf(admission)) return std::move(*refusal);
  if (server_.stats->Loading()) return Refusal(503, "the filters are being loaded");
  const core::FilterPtr filter = server_.keyspace->Find(path->name);
  if (filter == nullptr) return std::move(*RefusalOf(Admission::kHidden));
  return path->of_changes ? Changes(request, *filter) : Dump(request, filter);
}

bool FilterPages::IsPublic(const AdminRequest& request) const {
  return request.authorization.empty() && !(access_.needs_password && access_.needs_password());
}

AdminResponse FilterPages::Dump(const AdminRequest& request, const core::FilterPtr& filter) const {
  server_.filters.followed->Follow(*filter);
  const core::FilterInfo info = filter->Info();
  std::unique_ptr<core::FilterImage> image = filter->Capture();
  const std::string position = PositionText(image->position());
  Copy copy{.source = std::make_shared<DumpSource>(filter, std::move(image)),
            .tag = "\"" + position + "\"",
            .gzip_tag = "\"" + position + "-gzip\"",
            .as_gzip = IsSparse(info) && request.takes_chunks && TakesGzip(request.accept_encoding)};
  AdminResponse response = ResponseOf(request, copy);
  if (response.rest != nullptr) response.type = kBytes;
  response.headers.emplace_back(kPosition, position);
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.headers.emplace_back("Cache-Control", CachingOf(info, IsPublic(request)));
  response.headers.emplace_back("Vary", "Accept-Encoding");
  return response;
}

AdminResponse FilterPages::Changes(const AdminRequest& request, const core::Filter& filter) const {
  const auto since = ParsePosition(request.Parameter("since"));
  if (!since) return Refusal(400, "since must be a position, as the header Bitsieve-Position has it");
  const std::string_view given = request.Parameter("count");
  const auto count = given.empty() ? std::optional(kDefaultChanges) : core::ParseInteger(given);
  if (!count || *count < 1 || *count > kMaxChanges) {
    return Refusal(400, "count must be an integer from 1 to " + std::to_string(kMaxChanges));
  }
  const std::shared_ptr<core::ChangeHistory> history = filter.history();
  const auto page = history == nullptr ? std::nullopt : history->Since(*since, static_cast<size_t>(*count));
  if (!page) return Refusal(410, "the changes since this position are not in memory: read the filter again");
  AdminResponse response{.type = std::string(kBytes)};
  response.body.reserve(page->bytes());
  page->AppendTo(response.body);
  response.headers.emplace_back(kPosition, PositionText(page->end()));
  response.headers.emplace_back(kMore, page->is_last() ? "0" : "1");
  // The changes that follow a position are the same ever after.
  if (!page->is_last() && IsPublic(request)) response.headers.emplace_back("Cache-Control", "public, max-age=60");
  return response;
}

}  // namespace bitsieve::server
