#!/usr/bin/env bash
# libbitsieve.so shows the functions that bitsieve.h declares, and nothing else; and bears its soname.
#   symbols_test.sh LIBRARY HEADER
set -euo pipefail
declared=$(grep -oE 'bitsieve_[a-z_]+\(' "$2" | tr -d '(' | sort -u)
shown=$(nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
diff <(echo "$declared") <(echo "$shown")
readelf -d "$1" | grep -q 'SONAME.*\[libbitsieve.so.1\]'
