"""A judge that never gives the worst level: no figure and no rule about that level alone rests on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.analysis import worst_level
from mindgauge.benchmarks import registry
from mindgauge.benchmarks.help_or_harm import help_or_harm
from mindgauge.commands import compare, gate, report, score
from mindgauge.reports import reliability_gate
from tests.analysis.judged_run import CRITERION, RESPONSE, World, said, write
from tests.in_process import mindgauge as command

if TYPE_CHECKING:
    from pathlib import Path

SHY, ABLE = "model/shy", "model/able"


def _run(folder: Path) -> Path:
    """Two people, one judge that gives 2 where they give 1, and one that gives what the first of them does."""
    world = World(400).people()
    for reply, level in zip(world.replies, world.truth.tolist(), strict=True):
        world.ratings += [said(reply, SHY, max(level, 2)), said(reply, ABLE, level)]
    return write(folder, RESPONSE, world.samples, world.replies, world.ratings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _run(tmp_path_factory.mktemp("worst") / "run")
