#include <string_view>

#include "config/option_table.h"
#include "config/redis_settings.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

using config::OptionRow;

constexpr std::string_view kConfigurationIntroduction =
    R"(<!-- Written by scripts/docs from config/option_table.cc. -->
# Configuration

Every setting of the server is an option with a name. It can be given in four places; later ones win:

1. the default,
2. a JSON file: `bitsieve serve --config bitsieve.json` (or `BITSIEVE_CONFIG=bitsieve.json`),
3. the environment: `BITSIEVE_PORT=7000`,
4. a flag: `--port 7000`.

`bitsieve serve --print-config` prints the result as a file that `--config` takes, and on standard error where each
value that is not a default comes from. All unknown names and out-of-range values are reported together, each with its
location, and the server does not start (exit status 2).

The file is one JSON object; lines may carry `//` comments. [bitsieve.example.json](../config/bitsieve.example.json) has
every option with its default.

Sizes are bytes, or `64kb`, `100mb`, `2gb` (powers of 1024), or `64k`, `100m`, `2g` (powers of 1000), as Redis has
them; in a file such a size is a string.

Options marked *at run time* can be changed with `CONFIG SET name value [name value ...]`: all of them, or none if one
is refused; values are checked together, so their order does not matter. A change lasts until the server stops, or for
good after `CONFIG REWRITE`. `CONFIG GET pattern` returns the values in use. Both also take RedisBloom's names of
options, where the table gives one. Passwords are shown as `***` there and by `--print-config`; a file with these stars
is refused, so that they are not taken for the password.

## Changing a running server

`bitsieve check-config bitsieve.json` reads a configuration as `serve` would, with the same flags and variables, and
reports every problem with its line; then whether the directories and files that it names can be used. Nothing is made
or changed. It ends with status 0 and the values that are not defaults, or with 1.

**SIGHUP** (`systemctl reload`, `kill -HUP`) opens the log file anew and reads the configuration again: file,
environment and flags together. What changed since they were last read is applied, and each change is logged with both
values; for an option that is not marked *at run time*, the log says that it waits for a restart. The templates are
replaced, too. If anything is invalid, every problem is logged and nothing changes. What `CONFIG SET` changed stays as
it was set, unless the configuration was changed for that very option: so a signal that rotates logs undoes nothing.

**`CONFIG REWRITE`** writes what `CONFIG SET` changed into the file. Values are replaced where they are and added at the
end, so comments, order and layout stay; what was not set at run time is left alone, also if it comes from a variable or
a flag. If a variable or a flag would win over what was written at the next start, the log says so. The new file takes
the place of the old one by a rename, with its owner and mode: the server needs the right to create a file in that
directory. An invalid file is refused and left as it is; so is a server that was started without one.

## Templates

The file may have a list `templates`, which says how filters are made whose names fit a pattern, when `BF.ADD`,
`BF.MADD` or `BF.INSERT` creates them:

```json
{
  "templates": [
    {"pattern": "seen:*", "type": "window", "window": "24h", "capacity": 1000000},
    {"pattern": "user:[0-9]*", "error-rate": 0.001, "capacity": 5000, "expansion": 4},
    {"pattern": "login:*", "type": "classic", "hash": "sip"}
  ]
}
```

`pattern` is a glob as in `KEYS`; the first entry that describes the whole name is used. The other fields are the
options of `BF.INSERT`, in lower case, with their values: `type`, `capacity`, `expansion` (0: the filter does not
grow), `seed`, `tightening`, and those of single types, such as `window`, `counterbits` and `hash`, which need `type`
beside them; only `ERROR` is called `error-rate`. What an entry leaves out is as in the options of the group *Filters*
below. A stated capacity works as in `BF.INSERT`: most of the error rate goes to the first sub-filter.

Options that `BF.INSERT` states win over the entry's, and a `TYPE` of its own over all that the entry says of its
type. `BF.RESERVE` knows no templates: it states what it wants. An entry that could never work is reported when the
server starts, with its file, place and field.

## Kubernetes

In Kubernetes, a service named `bitsieve` makes the cluster set `BITSIEVE_PORT` and the like in every pod of its
namespace, to something else than a port. The server then refuses to start and says so; `enableServiceLinks: false` in
the pod helps.
)";

constexpr std::string_view kRedisSettings = R"(
## Settings of Redis

Clients of Redis read these with `CONFIG GET`; their values follow from the options. `CONFIG SET` accepts the value that
such a setting has, and refuses any other.

| Setting | By default | Why |
|---|---|---|
)";

std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string Row(const OptionRow& row) {
  const std::string value = OptionReadableText(row, config::Options{});
  return "| `" + std::string(row.name) + "` | " + (value.empty() ? "empty" : "`" + value + "`") + " | " +
         Cell(AllowedValues(row)) + " | " + (row.at_run_time() ? "yes" : "") + " | " + Cell(row.help) +
         (row.alias.empty() ? "" : " (RedisBloom: `" + std::string(row.alias) + "`)") + " |\n";
}

}  // namespace

std::string ConfigurationPage() {
  std::string page(kConfigurationIntroduction);
  std::string_view group;
  for (const OptionRow& row : config::OptionTable()) {
    if (row.group != group) {
      group = row.group;
      page += "\n## " + std::string(group) + "\n\n| Option | Default | Takes | At run time | What it does |\n";
      page += "|---|---|---|---|---|\n";
    }
    page += Row(row);
  }
  page += kRedisSettings;
  for (const config::RedisSetting& setting : config::RedisSettings()) {
    page += "| `" + std::string(setting.name) + "` | `" + setting.value(config::Options{}) + "` | " +
            std::string(setting.reason) + " |\n";
  }
  return page;
}

}  // namespace bitsieve::lint
