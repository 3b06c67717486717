#!/usr/bin/python3
"""A crawler that never fetches a page twice, over any number of runs and machines: BF.ADD says whether a URL is new.

    ./scripts/serve &
    examples/crawler.py http://localhost:8000/        # prints each page that it fetches

A set of 10^9 URLs would take 100 GB. The filter takes 1.9 GB at an error rate of 0.001: it mistakes one new page in a
thousand for an old one. The example needs redis-py (Debian: python3-redis).
"""

import argparse
import urllib.error
import urllib.request
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

import redis


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if tag == "a" and name == "href" and value]


def links_of(url):
    """Returns the pages of the same site that the page links to; none if it cannot be fetched."""
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            parser = Links()
            parser.feed(reply.read(1 << 20).decode(errors="replace"))
    except (urllib.error.URLError, TimeoutError) as problem:
        print(f"{url}: {problem}")
        return []
    pages = (urldefrag(urljoin(url, link)).url for link in parser.found)
    return [page for page in pages if urlsplit(page).netloc == urlsplit(url).netloc]


def crawl(seen, start):
    waiting = [start]
    while waiting:
        url = waiting.pop()
        print(url, flush=True)
        pages = links_of(url)
        if pages:
            # One round trip for all links of a page. If many crawlers add a URL at once, exactly one gets 1.
            waiting += [page for page, new in zip(pages, seen.madd("crawler:pages", *pages)) if new]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where to begin")
    parser.add_argument("--server", default="redis://127.0.0.1:7379", help="the Bitsieve server [%(default)s]")
    arguments = parser.parse_args()
    client = redis.Redis.from_url(arguments.server)
    # The first run creates the filter; later runs use it.
    client.execute_command("BF.RESERVE", "crawler:pages", 0.001, 1_000_000, "IFNOTEXISTS")
    seen = client.bf()
    if seen.add("crawler:pages", arguments.url):
        crawl(seen, arguments.url)
    else:
        print(f"{arguments.url} was crawled before")


if __name__ == "__main__":
    main()
