#!/usr/bin/env bash
# Passes each event on only once, although queues may deliver it repeatedly. Events are remembered for 24 hours.
#
#   ./scripts/serve &
#   tail -F events.jsonl | examples/dedup.sh > once.jsonl
#
# Each line is a JSON object whose member "id" identifies the event. The argument is the URL of the server.
set -euo pipefail

bitsieve=$(command -v bitsieve || echo "$(dirname "$0")/../build/release/bitsieve")
server=${1:-redis://127.0.0.1:7379}
# The first run creates the filter; later runs use it. For 10 million events a day, of which one in ten thousand is lost
# as a false positive, it takes 40 MB.
redis-cli -u "$server" BF.RESERVE events 0.0001 10000000 TYPE window WINDOW 24h IFNOTEXISTS > /dev/null
exec "$bitsieve" check events --add --format jsonl --field id -u "$server"
