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

`bitsieve serve --print-config` prints the resulting configuration as a file that `--config` accepts, and prints to
standard error where each value that is not a default comes from. All unknown names and out-of-range values are reported
together, each with its location, and the server does not start (exit status 2).

The file is one JSON object; lines may have `//` comments. [bitsieve.example.json](../config/bitsieve.example.json)
contains every option with its default.

Sizes are numbers of bytes, or `64kb`, `100mb`, `2gb` (powers of 1024), or `64k`, `100m`, `2g` (powers of 1000), as in
Redis; in a file such a size is a string.

Options marked *at run time* can be changed with `CONFIG SET name value [name value ...]`. If one of them is refused,
none is changed. Values are checked together, so their order does not matter. A change lasts until the server stops, or
permanently after `CONFIG REWRITE`. `CONFIG GET pattern` returns the values in use. Both commands also accept
RedisBloom's names of options, where the table gives one. `CONFIG GET` and `--print-config` show passwords as `***`; a
file that contains these asterisks is refused, so they are never taken for the password.

## Changing a running server

`bitsieve check-config bitsieve.json` reads a configuration as `serve` would, with the same flags and variables. It
reports every problem with its line, and then whether the directories and files that the configuration names can be
used. It creates and changes nothing. If all is well, it lists the values that are not defaults and exits with status 0;
otherwise it exits with 1.

**SIGHUP** (`systemctl reload`, `kill -HUP`) makes the server reopen the log file and read the configuration again:
file, environment and flags together. Values that have changed since they were last read are applied, and each change is
logged with both values; for an option that is not marked *at run time*, the log says that the change needs a restart.
The templates are replaced, too. If anything is invalid, every problem is logged and nothing changes. A value set by
`CONFIG SET` is kept, unless the configuration of that option has changed, so a signal that rotates logs undoes nothing.

**`CONFIG REWRITE`** writes the values that `CONFIG SET` has changed into the file. Existing values are replaced in
place and new ones are added at the end, so comments, order and layout stay. Values that were not set at run time are
not written, even if they come from a variable or a flag. If at the next start a variable or a flag would override a
value that was written, the log says so. The new file replaces the old one by a rename and keeps its owner and mode; for
this, the server must be allowed to create files in that directory. If the file is invalid, it is left unchanged and the
command fails. The command also fails if the server was started without a file.

## Templates

The file may have a list `templates`. If `BF.ADD`, `BF.MADD` or `BF.INSERT` creates a filter whose name matches the
pattern of an entry, the filter is created as that entry says:

```json
{
  "templates": [
    {"pattern": "seen:*", "type": "window", "window": "24h", "capacity": 1000000},
    {"pattern": "user:[0-9]*", "error-rate": 0.001, "capacity": 5000, "expansion": 4},
    {"pattern": "login:*", "type": "classic", "hash": "sip"}
  ]
}
```

`pattern` is a glob as in `KEYS`; the first entry that matches the whole name is used. The other fields are the options
of `BF.INSERT`, in lower case, with their values: `type`, `capacity`, `expansion` (0: the filter does not grow), `seed`,
`tightening`, and those of single types, such as `window`, `counterbits` and `hash`, which also need `type`. Only
`ERROR` has another name, `error-rate`. Fields that an entry omits have the values of the options of the group *Filters*
below. If an entry states a capacity, it works as in `BF.INSERT`: most of the error rate goes to the first sub-filter.

Options given to `BF.INSERT` override those of the entry, and a `TYPE` given there overrides all fields of the entry
that depend on its type. Templates do not apply to `BF.RESERVE`, which states all of its parameters. An entry that could
never work is reported when the server starts, with its file, location and field.

## Kubernetes

If a service is named `bitsieve`, Kubernetes sets `BITSIEVE_PORT` and similar variables in every pod of its namespace,
to values that are not port numbers. The server then refuses to start and says why. To avoid this, set
`enableServiceLinks: false` in the pod.
)";

constexpr std::string_view kRedisSettings = R"(
## Settings of Redis

Clients of Redis read these settings with `CONFIG GET`; their values follow from the options. `CONFIG SET` accepts only
the value that such a setting already has.

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
