#!/usr/bin/env bash
# check.sh COMPILER HEADER SOURCE: compiles the source after the engine's header; exit status 77 if there is none. Run it
# in the root.
set -euo pipefail
if [[ ! -f $2 ]]; then
  echo "SKIPPED: there is no $2: scripts/engines fetches it where the network has it" >&2
  exit 77
fi
exec "$1" -std=c++20 -fsyntax-only -w -I. -include "$2" "$3"
