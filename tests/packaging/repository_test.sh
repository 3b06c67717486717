#!/usr/bin/env bash
# scripts/packages --repository prints the source that apt is configured with, a company's mirror and its key as well.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/parts" "$work/lists/partial"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
cat > "$work/apt.conf" << END
Dir::Etc::sourcelist "$work/list";
Dir::Etc::sourceparts "$work/parts/";
Dir::State::Lists "$work/lists/";
END
export APT_CONFIG=$work/apt.conf

expect() { # what, the wanted output
  local answer
  answer=$("$root/scripts/packages" --repository 2>&1) || true
  [[ $answer == "$2" ]] || { echo "$1: \"$answer\", not \"$2\"" >&2 && exit 1; }
}

: > "$work/list"
expect "no source" "scripts/packages: apt has no source for the suite $suite, component main"

echo "deb https://mirror.example.com/debian/ $suite main" > "$work/list"
expect "a line" "https://mirror.example.com/debian $suite"

cat > "$work/list" << END
# deb [signed-by=/old.gpg] https://mirror.example.com/debian $suite main
deb https://elsewhere.example.com/debian other main
deb [arch=amd64 signed-by=/etc/keys/company.gpg] https://mirror.example.com/debian $suite main
deb [signed-by=/etc/keys/other.gpg] https://mirror.example.com/debian-security $suite-security main
END
expect "a line with a key" "[signed-by=/etc/keys/company.gpg] https://mirror.example.com/debian $suite"

: > "$work/list"
cat > "$work/parts/debian.sources" << END
Types: deb
URIs: https://mirror.example.com/debian-security
Suites: $suite-security
Components: main
Signed-By: /etc/keys/other.gpg

Types: deb
URIs: https://mirror.example.com/debian
Suites: $suite $suite-updates
Components: main
Signed-By: /etc/keys/company.gpg
END
expect "a paragraph" "[signed-by=/etc/keys/company.gpg] https://mirror.example.com/debian $suite"

if grep -nE 'https?://[a-z.]*debian[.]org' "$root"/scripts/* "$root"/docker/Dockerfile* "$root"/tests/packaging/*.sh |
  grep -v repository_test; then
  echo "these name a mirror: scripts/packages --repository prints the one in use" >&2
  exit 1
fi
