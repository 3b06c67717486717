#!/usr/bin/python3
"""A fleet of crawlers that share what they have seen: each asks a copy of the filter in its own memory, and only URLs
that are new there go to the server, which says which crawler was first.

    ./scripts/serve &
    examples/crawlers.py --crawlers 4 --pages 20000   # a site that exists only in the example

Most links of a page lead to pages that were seen before: these cost no round trip. BF.ADD is exact for the rest, so no
page is fetched twice, however old a copy is. The example needs redis-py and bitsieve (Debian: python3-redis and
python3-bitsieve).
"""

import argparse
import multiprocessing
import queue
import random

import redis
from bitsieve import FollowedFilter

KEY = "crawlers:pages"


def links_of(page, pages):
    """Returns the links of a page of the site, which are the same for each crawler: most lead to popular pages."""
    link = random.Random(page)
    return [f"https://site.example/{int(pages * link.random() ** 3)}" for _ in range(20)] + \
        [f"https://site.example/{(page * 2 + i) % pages}" for i in (1, 2)]


def crawl(url, pages, waiting, results):
    """Fetches pages until none has come for a second."""
    server = redis.Redis.from_url(url).bf()
    fetched, links, asked = [], 0, 0
    with FollowedFilter(url, KEY, interval=0.02) as seen:
        while True:
            try:
                page = waiting.get(timeout=1)
            except queue.Empty:
                break
            fetched.append(page)
            found = links_of(page, pages)
            new = [link for link, known in zip(found, seen.may_contain_many(found)) if not known]
            links, asked = links + len(found), asked + len(new)
            if new:
                for link, is_first in zip(new, server.madd(KEY, *new)):
                    if is_first:
                        waiting.put(int(link.rsplit("/", 1)[1]))
    results.put((fetched, links, asked))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="redis://127.0.0.1:7379", help="the Bitsieve server [%(default)s]")
    parser.add_argument("--crawlers", type=int, default=4, help="number of processes [%(default)s]")
    parser.add_argument("--pages", type=int, default=20_000, help="number of pages of the site [%(default)s]")
    arguments = parser.parse_args()
    client = redis.Redis.from_url(arguments.server)
    client.delete(KEY)
    client.execute_command("BF.RESERVE", KEY, 0.001, arguments.pages)
    client.execute_command("BF.ADD", KEY, "https://site.example/0")
    waiting, results = multiprocessing.Queue(), multiprocessing.Queue()
    waiting.put(0)
    crawlers = [multiprocessing.Process(target=crawl, args=(arguments.server, arguments.pages, waiting, results))
                for _ in range(arguments.crawlers)]
    for crawler in crawlers:
        crawler.start()
    reports = [results.get() for _ in crawlers]
    for crawler in crawlers:
        crawler.join()
    pages = [page for fetched, _, _ in reports for page in fetched]
    links, asked = (sum(report[i] for report in reports) for i in (1, 2))
    print(f"{len(pages)} pages fetched, {len(pages) - len(set(pages))} of them twice; "
          f"{links - asked} of {links} links ({(links - asked) / links:.0%}) needed no round trip")


if __name__ == "__main__":
    main()
