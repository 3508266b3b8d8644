"""Which benchmarks there are: every folder that has a module of its own name."""

from __future__ import annotations

import difflib
import functools
import importlib

from mindgauge import suite
from mindgauge.benchmark.benchmark import HERE, Benchmark
from mindgauge.errors import UsageError


@functools.cache
def _all() -> dict[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    for path in sorted(p for p in (*HERE.glob("*/*.py"), *HERE.glob("*/*/*.py")) if p.stem == p.parent.name):
        module = importlib.import_module(
            ".".join(("mindgauge.benchmarks", *path.relative_to(HERE).with_suffix("").parts))
        )
        found |= {b.name: b for b in vars(module).values() if isinstance(b, Benchmark)}
    return found


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(_all())


def find(name: str) -> list[Benchmark]:
    """Return the benchmark of this name, or the members of the family or suite of this name.

    A suite may count benchmarks of other families among its members; these keep their own names.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    known, name = _all(), name.rstrip("/")
    if name in known:
        return [known[name]]
    family, _, member = name.partition("/")
    elsewhere = [other for other in suite.members_elsewhere(family) if member in {"", other.rpartition("/")[2]}]
    members = [one for one in known if one.startswith(f"{name}/")]
    if members or elsewhere:
        order = suite.order(family)
        return [known[one] for one in sorted((*members, *elsewhere), key=lambda one: order.get(one, len(order)))]
    choices = sorted({*known, *(key.split("/")[0] for key in known)})
    near = difflib.get_close_matches(name, choices, 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(choices)}"
    raise UsageError(f"unknown benchmark {name!r}: {hint}")


def of_family(name: str) -> list[Benchmark]:
    """Return the same without what a suite counts among its members and belongs to another family, with data of its own.

    Raises:
        UsageError: there is none of this name.
    """
    found = find(name)
    own = [one for one in found if one.name.split("/")[0] == name.split("/", maxsplit=1)[0]]
    return own or found


def find_one(name: str) -> Benchmark:
    """Return the benchmark of this name, where only one will do.

    Raises:
        UsageError: there is none, or it is a family.
    """
    found = find(name)
    if len(found) > 1:
        raise UsageError(f"{name} is a family; name one of {', '.join(b.name for b in found)}")
    return found[0]
