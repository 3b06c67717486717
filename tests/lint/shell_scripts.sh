#!/usr/bin/env bash
# Holds every shell script of the repository against shellcheck, given as the argument, and against the house's first line.
set -euo pipefail
shellcheck=$1

status=0
while IFS= read -r -d '' file; do
  if ! head -n 1 "$file" | grep -q '^#!'; then continue; fi
  "$shellcheck" "$file" || status=1
  if ! grep -q '^set -euo pipefail$' "$file"; then
    echo "$file: no \"set -euo pipefail\"" >&2
    status=1
  fi
  if [[ ! -x $file ]]; then
    echo "$file: begins with #! but is not executable" >&2
    status=1
  fi
done < <(git grep --cached -Ilz '^#!.*bash')
exit "$status"
