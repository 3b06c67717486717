"""The real main job: a dictionary through redis-cli --pipe, every word found, hardly a misspelt one; kill -9, again."""

import pathlib
import random
import unittest

from harness import OwnServerTest, main

WORDS = pathlib.Path("/usr/share/dict/words")
ERROR_RATE = 0.01
MOST_WRONG = 1.1 * ERROR_RATE
BATCH = 2000


def misspell(word, generator):
    """One slip: two letters exchanged, one doubled, one lost, or a wrong one."""
    at = generator.randrange(len(word))
    return generator.choice([
        lambda: word[:at] + word[at + 1:at + 2] + word[at] + word[at + 2:],
        lambda: word[:at] + word[at] + word[at:],
        lambda: word[:at] + word[at + 1:],
        lambda: word[:at] + generator.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1:],
    ])()


def misspelt(words, count):
    known, generator, found = set(words), random.Random(1), set()
    while len(found) < count:
        slip = misspell(generator.choice(words), generator)
        if slip and slip not in known:
            found.add(slip)
    return sorted(found)


@unittest.skipUnless(WORDS.exists(), f"{WORDS} is missing: apt-get install wamerican")
class Dictionary(OwnServerTest):
    def answered_yes(self, server, words):
        bf = server.client().bf()
        return sum(sum(bf.mexists("words", *words[begin:begin + BATCH])) for begin in range(0, len(words), BATCH))

    def check(self, server, words, wrong_words):
        self.assertEqual(self.answered_yes(server, words), len(words), "words that were added are missing")
        rate = self.answered_yes(server, wrong_words) / len(wrong_words)
        self.assertLessEqual(rate, MOST_WRONG)
        return rate

    def test_load_check_kill_and_check_again(self):
        words = WORDS.read_text(encoding="utf-8").splitlines()
        self.assertGreater(len(words), 50_000)
        wrong_words = misspelt(words, len(words))
        server = self.make_server().start()
        self.assertEqual(server.cli("BF.RESERVE", "words", ERROR_RATE, len(words)), "OK\n")
        # As a person would: each line between quotes, since words have apostrophes.
        loaded = server.cli("--pipe", stdin="".join(f'BF.ADD words "{word}"\n' for word in words))
        self.assertIn(f"errors: 0, replies: {len(words)}", loaded)

        rate = self.check(server, words, wrong_words)
        info = dict(zip(*[iter(server.client().execute_command("BF.INFO", "words"))] * 2))
        self.assertEqual(info[b"Number of filters"], 1)
        self.assertLessEqual(info[b"Size"] * 8 / len(words), 10.6)
        self.assertEqual(server.cli("SAVE"), "OK\n")
        server.restart()
        self.assertEqual(self.check(server, words, wrong_words), rate)
        print(f"\n{len(words)} words in {info[b'Size']} bytes; of as many misspelt ones {rate:.3%} passed for words")
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
