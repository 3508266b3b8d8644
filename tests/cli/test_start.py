"""What a command loads before it answers: `list` no library of numbers, and a library that is put off is the same library."""

import subprocess
import sys

HEAVY = ("numpy._core", "polars.dataframe", "scipy.special._ufuncs", "jinja2", "altair", "aiohttp", "mindgauge.cli.run")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
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
