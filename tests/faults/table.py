"""Print what the last campaign measured, as the table of bench/results/faults.md: `python -m tests.faults.table`."""

from __future__ import annotations

import json
import sys

from tests.faults.campaign import RESULTS

COLUMNS = ("paid", "repeated", "lost", "doubled", "wrong")


def table() -> str:
    """Return the results as a Markdown table, one scenario a row."""
    rows = sorted(
        (json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")),
        key=lambda row: str(row["scenario"]),
    )
    lines = [
        "| scenario | what happened | calls paid | repeated | rows lost | doubled | wrong statuses | outcome |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        figures = " | ".join(f"{row[column]:,}" for column in COLUMNS)
        lines.append(f"| {row['scenario']} | {row['what']} | {figures} | {row['outcome']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
