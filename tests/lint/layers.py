"""Who may include whom, and which library."""
import os
import re

# Who may include whom: the first prefix that fits the including file decides. A folder without a row is an error.
EVERYTHING = ["core/", "protocol/", "commands/", "config/", "server/", "module/", "clients/", "cli/",
              "tests/"]
OWN_FOLDER = "{own folder}"  # of the including file
CORE_FACE = ["core/base/", "core/hash/", "core/memory/", "core/filter/"]
KEYSPACE = ["commands/keyspace.h", "config/quotas.h", "server/keyspace/"]
SESSION = ["server/auth/", "server/keyspace/keyspace.h", "server/pubsub/", "server/session/",
           "commands/", "core/", "protocol/"]
DISPATCH = ["server/dispatch/", "server/stats/", "config/option_table.h", *SESSION]
LAYERS = [
    ("core/base/", ["core/base/"]),
    ("core/hash/", ["core/base/", "core/hash/"]),
    ("core/memory/", ["core/base/", "core/memory/"]),
    ("core/filter/", CORE_FACE),
    ("core/sketches/", [*CORE_FACE, OWN_FOLDER]),
    ("core/families/filter_types.cc", ["core/"]),
    ("core/families/bloom/", [*CORE_FACE, "core/families/bloom/"]),
    # Its tables are cuckoo tables with a time in each slot.
    ("core/families/expiring/", [*CORE_FACE, "core/families/cuckoo/", OWN_FOLDER]),
    # A family may build on bloom's sub-filters, and on no other family.
    ("core/families/", [*CORE_FACE, "core/families/bloom/", OWN_FOLDER]),
    # Values of RDB files are filters.
    ("protocol/rdb/", ["protocol/rdb/", "core/"]),
    ("protocol/", ["protocol/", "core/base/"]),
    ("commands/", ["commands/", "core/", "protocol/"]),
    # default-type names the rows; other defaults and ranges are those of filters.
    ("config/", ["config/", "commands/template_entry.h", "core/base/", "core/filter/filter_type.h",
                 "core/filter/filter_params.h"]),
    ("server/auth/", ["server/auth/", "commands/", "core/base/"]),
    ("server/process/", ["server/process/", "commands/", "config/", "core/"]),
    ("server/pubsub/", ["server/pubsub/", "commands/", "core/base/", "protocol/"]),
    ("server/stats/", ["server/stats/", "commands/", "core/base/"]),
    ("server/session/", SESSION),
    ("server/dispatch/", DISPATCH),
    # Metrics are rows of one table, which INFO and the admin port read.
    ("server/metrics/", ["server/metrics/", "server/process/resident_memory.h", *DISPATCH]),
    ("server/commands/", ["server/commands/", "server/metrics/", "server/process/resident_memory.h", *DISPATCH]),
    ("server/keyspace/", [*KEYSPACE, "core/"]),
    ("server/persistence/disk/", ["server/persistence/disk/", "core/"]),
    ("server/persistence/log/", ["server/persistence/disk/", "server/persistence/log/", *KEYSPACE, "core/"]),
    ("server/persistence/snapshot/", ["server/persistence/disk/", "server/persistence/log/",
                                      "server/persistence/snapshot/", *KEYSPACE, "core/"]),
    ("server/persistence/", ["server/persistence/", *KEYSPACE, "core/"]),
    ("server/net/", ["server/net/", "server/auth/", "server/dispatch/", "server/session/",
                     "server/stats/", "commands/", "protocol/", "core/base/"]),
    ("server/http/", ["server/http/", "server/metrics/", *DISPATCH]),
    ("server/", ["core/", "protocol/", "commands/", "config/", "server/"]),
    # Options are read off the server's table.
    ("module/", ["core/", "protocol/", "commands/", "config/option_table.h", "config/option_row.h",
                 "config/options.h", "module/"]),
    ("clients/cpp/", ["core/", "clients/cpp/"]),
    ("clients/", ["core/", "clients/"]),
    # Programs of others, which have what is installed.
    ("examples/", []),
    ("cli/", ["core/", "protocol/", "commands/", "config/", "server/", "clients/", "cli/"]),
    ("tests/", EVERYTHING),
]
# Where a library that shapes the design may be included.
LIBRARIES = {
    "asio": ("server/net/", "server/", "tests/bench/"),
    "openssl/": ("server/auth/", "server/net/", "tests/"),
    "spdlog/": ("server/", "cli/", "tests/"),
    "CLI/": ("config/flags.", "cli/", "tests/"),
    # Its destructor ends the process if memory is refused: a server that runs writes JSON by core/base/json_writer.h.
    "nlohmann/": ("config/", "server/persistence/inspect/", "cli/", "tests/"),
    # Reading on in a directory ends the process if memory is refused, and so do calls that are noexcept.
    "filesystem": ("config/", "cli/", "tests/"),
    "histedit.h": ("cli/shell/",),
    "hiredis/": ("cli/bulk/", "clients/cpp/", "examples/", "tests/"),
    "liblzf/": ("protocol/rdb/", "tests/"),
    "httplib": ("server/http/",),
    "zlib.h": ("server/http/", "tests/"),
}
# Of those above, whatever LIBRARIES grants to server/.
LIBRARY_FREE = ("server/commands/", "server/dispatch/", "server/keyspace/", "server/metrics/", "server/pubsub/",
                "server/session/", "server/stats/")


def includes(text):
    """Line number, bracket and path of each #include."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1], found[2]


def layer_complaints(path, text, exists):
    allowed = next((targets for prefix, targets in LAYERS if path.startswith(prefix)), None)
    if allowed is None:
        yield f"{path}: its folder has no row in LAYERS (tests/lint/layers.py)"
        return
    allowed = [os.path.dirname(path) + "/" if target == OWN_FOLDER else target for target in allowed]
    for number, bracket, target in includes(text):
        if bracket == "<":
            yield from library_complaints(path, number, target)
        elif not exists(target):
            yield f'{path}:{number}: "{target}" is no file, seen from the root'
        elif not target.startswith(tuple(allowed)):
            yield f"{path}:{number}: may not include {target}; it may include {', '.join(allowed)}"


def library_complaints(path, number, target):
    for library, places in LIBRARIES.items():
        granted = tuple(place for place in places if place != "server/" or not path.startswith(LIBRARY_FREE))
        outside = not path.startswith(granted)
        if target.startswith(library) and outside:
            yield f"{path}:{number}: may not include <{target}>; only {', '.join(places)} may"
