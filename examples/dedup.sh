#!/usr/bin/env bash
# Events that come more than once, as queues deliver them, pass once: those of the last 24 hours are remembered.
#
#   ./scripts/serve &
#   tail -F events.jsonl | examples/dedup.sh > once.jsonl
#
# Each line is a JSON object whose member "id" says which event it is. The argument is the server, a URL.
set -euo pipefail

bitsieve=$(command -v bitsieve || echo "$(dirname "$0")/../build/release/bitsieve")
server=${1:-redis://127.0.0.1:7379}
# Made once; later runs find it there. For 10 million events a day, of which one in ten thousand is lost as a false
# positive, it takes 40 MB.
redis-cli -u "$server" BF.RESERVE events 0.0001 10000000 TYPE window WINDOW 24h IFNOTEXISTS > /dev/null
exec "$bitsieve" check events --add --format jsonl --field id -u "$server"
