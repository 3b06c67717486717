#!/usr/bin/python3
"""Passes each event on only once, although queues may deliver it repeatedly and hours late: each event is remembered
until 24 hours after it happened. Older events are dropped.

    ./scripts/serve &
    tail -F events.jsonl | examples/events.py > once.jsonl

Each line is a JSON object whose member "id" identifies the event, and whose "time" is when it happened, as a Unix time.
The example needs redis-py (Debian: python3-redis).
"""

import argparse
import json
import sys
import time

import redis

FILTER = "events:once"
DAY_S = 24 * 3600


def is_new(client, event):
    # An expiry must lie in the future, and within the filter's TTL; a few seconds are for clocks that differ.
    now = int(time.time())
    expiry = min(int(event["time"]), now - 5) + DAY_S
    return expiry > now + 1 and client.execute_command("BF.INSERT", FILTER, "EXAT", expiry, "ITEMS", event["id"]) == [1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="redis://127.0.0.1:7379", help="the Bitsieve server [%(default)s]")
    client = redis.Redis.from_url(parser.parse_args().server)
    # The first run creates the filter; later runs use it. For a million events a day, of which one in ten thousand is
    # lost as a false positive, it takes 3 MB. An event that is delivered again is not remembered longer.
    client.execute_command("BF.RESERVE", FILTER, 0.0001, 1_000_000, "TYPE", "expiring", "TTL", "24h", "RENEW", "no",
                           "IFNOTEXISTS")
    for line in sys.stdin:
        if is_new(client, json.loads(line)):
            print(line, end="", flush=True)


if __name__ == "__main__":
    main()
