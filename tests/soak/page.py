"""The page of a soak: its figures, seeds, versions and failures, as Markdown and as JSON."""

import json
import os

UNITS = {"rss_bytes": 1 << 20, "disk_bytes": 1 << 20, "used_memory": 1 << 20, "mem_clients_normal": 1 << 10,
         "mem_changes": 1 << 10}
UNIT_NAMES = {1 << 20: "MB", 1 << 10: "kB"}


def number(value):
    return f"{value:,.1f}" if isinstance(value, float) and value != int(value) else f"{int(value):,}"


def figures_text(figures):
    return ", ".join(f"{number(value)} {name.replace('_', ' ')}" for name, value in figures.items())


def part_rows(record):
    """The table that docs/trust.md has as well."""
    lines = ["| part | runs | hours | what was done | failures |", "|---|---|---|---|---|"]
    for part in record["parts"].values():
        done = part["skipped"] and f"skipped: {part['skipped']}" or figures_text(part["figures"])
        hours = part["seconds"] / 3600
        lines.append(f"| {part['title']} | {part['runs']} | {hours:.2f} | {done} | {part['failures']} |")
    return lines


# What is added up over all parts, by the names of their figures.
TOTALS = {"lookups that had to find their item, and did": "lookups", "kills": "kills", "disk faults": "faults",
          "simulated crashes": "crashes", "simulated hours": "simulated_seconds",
          "commands compared with other servers": "commands compared", "inputs of fuzzers": "inputs",
          "hours of fuzzing": "seconds of fuzzing", "hours of typical load churned": "typical_hours"}
HOURS = ("simulated hours", "hours of fuzzing")  # which are counted in seconds


def total_lines(record):
    """Over all parts. A lookup that fails ends its run as a failure, which is listed."""
    parts = record["parts"].values()
    totals = {name: sum(part["figures"].get(figure, 0) for part in parts) for name, figure in TOTALS.items()}
    totals["seeds"] = sum(part["figures"].get("seeds", part["runs"]) for part in parts)
    for name in HOURS:
        totals[name] = round(totals[name] / 3600, 2)
    return [f"- {name}: {number(value)}" for name, value in totals.items() if value]


def trend_rows(record):
    lines = ["| part | seed | figure | empty, before | second quarter | last quarter | at most | empty, after |",
             "|---|---|---|---|---|---|---|---|"]
    for name, part in record["parts"].items():
        for run in part["trends"]:
            for row in run["rows"]:
                unit = UNITS.get(row["figure"], 1)
                cells = [f"{row[each] / unit:,.1f} {UNIT_NAMES.get(unit, '')}".strip()
                         for each in ("before", "early", "late", "most", "after")]
                lines.append(f"| {name} | {run['seed']} | {row['figure']} | {' | '.join(cells)} |")
    return lines if len(lines) > 2 else ["None."]


def failure_lines(record):
    if not record["failures"]:
        return ["None."]
    return [f"- {each['label']}, seed {each['seed']}: {each['status']}. `scripts/soak --replay {each['bundle']}`"
            for each in record["failures"]]


def seed_lines(record):
    return [f"- {name}: {', '.join(map(str, part['seeds']))}"
            for name, part in record["parts"].items() if part["seeds"]]


def markdown(record):
    state = "interrupted" if record["interrupted"] else "finished" if record["finished"] else "in progress"
    return "\n".join([
        f"# Soak with seed {record['seed']}", "",
        f"{state.capitalize()}: {record['seconds'] / 3600:.2f} of {record['hours']:g} hours, from {record['began']}, "
        f"{len(record['failures'])} failures.", "",
        "## What was done", "", *total_lines(record), "", *part_rows(record), "",
        "## Failures", "", *failure_lines(record), "",
        "## What grew", "", "Medians over a quarter of each churn.", "", *trend_rows(record), "",
        "## Versions", "", *(f"- {name}: {version}" for name, version in record["versions"].items()), "",
        "## Seeds", "", *seed_lines(record), ""])


def write(record, output):
    """Replaces soak.json and soak.md."""
    for name, text in (("soak.json", json.dumps(record, indent=2) + "\n"), ("soak.md", markdown(record))):
        temporary = output / f".{name}"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, output / name)
