"""What commands on a small run cost beside what their libraries cost to load: processor seconds, least of several.

    python bench/small.py [--repeats 5] [--run DIR] [--before SRC]

The run has four replies of psycrisis, by two models of a stub, rated by a judge of it; it is kept with `--run`. Each
command is a process of its own, which is waited for before the next begins. *Libraries* imports what a score or a report
cannot do without. With `--before` every command is also timed with the code of another folder, such as an older
checkout's `src`, the two in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from mindgauge import Function, run

MAIN = "from mindgauge.cli import main; main()"
LIBRARIES = "import numpy, polars, msgspec, click, sqlite3; polars.DataFrame"
REPLY = "That sounds like a heavy week, and it makes sense that you are tired of carrying it alone."


def made(folder: Path) -> None:
    """Make the run."""
    from mindgauge import benchmarks

    verdict = {criterion.name: criterion.values[0] for criterion in benchmarks.find_one("psycrisis").rubric.criteria}
    answer = json.dumps({"quotes": ["a heavy week"], "rationale": "It says so.", **verdict})

    def replied(message: str) -> str:
        return f"{REPLY} ({len(message)})"

    def judged(message: str) -> str:
        return answer if message else ""

    models = [Function(replied, name=name) for name in ("one", "two")]
    run("psycrisis", model=models, judge=Function(judged, name="judge"), limit=2, qualify=False, out=folder)


def computed(source: str, code: str, *arguments: str) -> float:
    """Return the processor seconds of an interpreter."""
    environment = {**os.environ, "PYTHONPATH": source}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--run", type=Path, help="where the run is kept")
    parser.add_argument("--before", type=Path, help="a folder with other code, timed in turn")
    chosen = parser.parse_args()
    sources = {
        "now": str(Path(__file__).parents[1] / "src"),
        **({"before": str(chosen.before)} if chosen.before else {}),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.run or Path(scratch, "run")
        if not (folder / "manifest.toml").is_file():
            made(folder)
        commands = {
            "interpreter": ("pass",),
            "libraries": (LIBRARIES,),
            "list": (MAIN, "list"),
            "score": (MAIN, "score", str(folder)),
            "report": (MAIN, "report", str(folder), "--out", str(Path(scratch, "report.html"))),
        }
        seconds: dict[tuple[str, str], list[float]] = {}
        for _ in range(chosen.repeats + 1):
            for name, command in commands.items():
                for when, source in sources.items():
                    seconds.setdefault((name, when), []).append(computed(source, *command))
    for name in commands:
        # the first of each may have compiled what it imports
        print(f"{name:12}", *(f"{when} {min(seconds[name, when][1:]):.2f} s" for when in sources), sep="  ")


if __name__ == "__main__":
    main()
