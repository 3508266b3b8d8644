"""What a command loads before it answers: `list` no library of numbers, and a library that is put off is the same library."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mindgauge.cli import deferred
from tests.reports import crisis

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "numpy._core",
    "polars.dataframe",
    "scipy.special._ufuncs",
    "jinja2",
    "altair",
    "aiohttp",
    "pydantic",
    "rich.console",
    "mindgauge.commands.run",
)
UNTOLD = {name: value for name, value in os.environ.items() if name not in deferred.AT_LOADING}
"""Nobody says how libraries work, as `make test` does."""


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env=UNTOLD
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_list_loads_no_library_of_numbers_and_no_other_command() -> None:
    shown = python(f"""
import sys
sys.argv = ["mindgauge", "list"]
from mindgauge.cli import main
try:
    main()
except SystemExit as end:
    print(end.code, [name for name in {HEAVY} if name in sys.modules])
""")
    assert "help_or_harm" in shown
    assert shown.splitlines()[-1] == "0 []"


def test_a_library_that_is_put_off_is_filled_once_by_its_first_use_from_any_thread_or_module_inside_it() -> None:
    shown = python("""
import sys, threading
from mindgauge.cli import deferred
deferred.defer()
deferred.defer()
import numpy
from scipy import special
import polars as pl
before = [name for name in ("numpy._core", "polars.dataframe", "scipy.special._ufuncs") if name in sys.modules]
import numpy.linalg
import numpy._core.multiarray
assert numpy._core.__spec__.submodule_search_locations, "a module inside it keeps what it was loaded by"
sums = []
threads = [threading.Thread(target=lambda: sums.append(pl.DataFrame({"a": [1, 2]})["a"].sum())) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(before, round(float(special.ndtr(1.96)), 3), float(numpy.linalg.norm([3, 4])), sums)
""")
    assert shown.strip() == "[] 0.975 5.0 [3, 3, 3, 3, 3, 3, 3, 3]"


def test_compiled_functions_load_without_the_package_around_them_which_is_whole_once_anything_else_is_asked() -> None:
    shown = python("""
import sys
from mindgauge.cli import deferred
deferred.defer()
from scipy import special
value = special.ndtri(0.975)
light = "scipy.special._basic" not in sys.modules
from scipy.special import softmax, ndtri
assert special.ndtri is ndtri
print(round(float(value), 3), light, softmax([0, 0]).tolist(), "scipy.special._basic" in sys.modules)
""")
    assert shown.strip() == "1.96 True [0.5, 0.5] True"


def test_scores_load_nothing_of_scipy_but_its_compiled_functions_and_no_reader_of_tables(tmp_path: Path) -> None:
    crisis.run(tmp_path, people=())
    shown = python(f"""
import sys
sys.argv = ["mindgauge", "score", {str(tmp_path)!r}, "--json"]
from mindgauge.cli import main
try:
    main()
except SystemExit as end:
    heavy = ("scipy.stats", "scipy.special._basic", "scipy.linalg._basic", "scipy.optimize._optimize", "mindgauge.records.ratings.reading")
    print()
    print(end.code, [name for name in heavy if name in sys.modules])
""")
    assert shown.splitlines()[-1] == "0 []"


def test_blas_has_one_thread_and_programs_that_are_started_are_not_told() -> None:
    pytest.importorskip("threadpoolctl")
    shown = python("""
import os
from mindgauge.cli import deferred
deferred.defer()
import numpy
from scipy import linalg
numpy.ones(2) @ numpy.ones(2), linalg.norm([3, 4])
import threadpoolctl
threads = {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}
print(threads, [name for name in deferred.AT_LOADING if name in os.environ])
""")
    assert shown.strip() in {"{1} []", "set() []"}


def test_polars_works_in_memory_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars.lazyframe.engine_config")
    engine = """
from mindgauge.cli import deferred
deferred.defer()
import polars
polars.col
from polars.lazyframe.engine_config import get_engine_affinity
print(get_engine_affinity())
"""
    assert python(engine).strip() == "in-memory"
    monkeypatch.setitem(UNTOLD, "POLARS_ENGINE_AFFINITY", "streaming")
    assert python(engine).strip() == "streaming"


def test_a_benchmark_named_with_its_family_is_found_without_loading_the_others() -> None:
    shown = python("""
import sys
from mindgauge import benchmarks
found = [benchmarks.find_one(name).name for name in ("help_or_harm/crisis_type", "psycrisis")]
print(found, [name for name in ("trustmh", "mentalbench") if f"mindgauge.benchmarks.{name}" in sys.modules])
""")
    assert shown.strip() == "['help_or_harm/crisis_type', 'psycrisis'] []"


def test_bad_usage_and_help_load_no_library_and_no_command() -> None:
    shown = python(f"""
import sys
from mindgauge.cli import main
for words in (["run", "x", "--runs", "three"], ["run", "x"], ["run", "--help-all"], ["gate", "init"], ["nothing"], ["judges"]):
    sys.argv = ["mindgauge", *words]
    try:
        main()
    except SystemExit as end:
        print()
        print("ended", end.code, [name for name in {(*HEAVY, "pydantic")} if name in sys.modules])
""")
    ended = [line for line in shown.splitlines() if line.startswith("ended")]
    assert ended == [f"ended {code} []" for code in (2, 2, 0, 2, 2, 2)]
