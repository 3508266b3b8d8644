"""Processor time of each test file, with what it starts and waits for: `python -m pytest -p tests.processor_time`.

On a machine that others share the clock says little, and `--durations` is the clock.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

NAME, SHOWN = "processor time", 40
_BEGAN = pytest.StashKey[float]()
_BY_FILE: dict[str, float] = defaultdict(float)


def _taken() -> float:
    """Return the seconds of this process and of those that it waited for."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_BEGAN] = _taken()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, object, object]:
    now = _taken()
    item.user_properties.append((NAME, now - item.stash[_BEGAN]))
    item.stash[_BEGAN] = now
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":  # which has the times of all three phases
        seconds = (float(str(value)) for name, value in report.user_properties if name == NAME)
        _BY_FILE[report.nodeid.partition("::")[0]] += sum(seconds)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section(f"{NAME}: {sum(_BY_FILE.values()):.0f} s in tests, and most of it in")
    for file, seconds in sorted(_BY_FILE.items(), key=lambda item: -item[1])[:SHOWN]:
        terminalreporter.write_line(f"{seconds:8.1f} s  {file}")
