"""Decides whether what a server takes keeps growing: the churn's test for leaks."""

import statistics

LEAST_SAMPLES = 16
GROWTH = 0.05
# What a figure may grow by besides, from the second quarter of a run to the last.
MARGINS = {"rss_bytes": 6 << 20, "descriptors": 8, "threads": 4, "disk_bytes": 16 << 20, "used_memory": 4 << 20,
           "mem_clients_normal": 1 << 20, "mem_changes": 4 << 20, "keys": 200}


class Trend:
    """The median of the second quarter of a run, when the server is warm, and that of the last."""

    def __init__(self, name, samples):
        quarter = len(samples) // 4
        self.name = name
        self.samples = len(samples)
        self.early = statistics.median(samples[quarter:2 * quarter]) if quarter else 0
        self.late = statistics.median(samples[-quarter:]) if quarter else 0
        self.most = self.early * (1 + GROWTH) + MARGINS[name]

    def is_judged(self):
        return self.samples >= LEAST_SAMPLES

    def grows(self):
        return self.is_judged() and self.late > self.most

    def as_row(self):
        return {"figure": self.name, "samples": self.samples, "early": self.early, "late": self.late,
                "most": round(self.most), "grows": self.grows()}


def trends(samples):
    """Of samples that are dictionaries with the same names, one trend for each name."""
    names = [name for name in MARGINS if samples and name in samples[0]]
    return [Trend(name, [sample[name] for sample in samples]) for name in names]
