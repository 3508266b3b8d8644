"""What is not installed: every import is declared, and a command that lacks an extra says in one line how to get it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from mindgauge.cli.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LATER = {"compression"}
"""In the standard library from Python 3.14 on."""
WITHOUT = """
import importlib, io, json, sys
from pathlib import Path
from mindgauge.cli.extras import EXTRAS
from mindgauge import cli

lacking = {package for packages in EXTRAS.values() for package in packages}

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in lacking else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
words = json.loads(sys.argv[1])
done = []
for arguments in words:
    sys.argv = ["mindgauge", *arguments]
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        cli.main()
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        code = repr(error)
    done.append([code, sys.stdout.getvalue(), sys.stderr.getvalue()])
modules = []
root = Path(cli.__file__).parents[1]
for path in sorted(root.rglob("*.py")):
    name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
    try:
        importlib.import_module(name.removesuffix(".__init__")) if path.stem != "__main__" else None
    except ModuleNotFoundError as error:
        modules.append([name, error.name])
sys.__stdout__.write(json.dumps([done, modules]))
"""
NEEDING = {
    "view run": "web",
    "annotate new project --items run --annotators ana": "web",
    "annotate serve project": "web",
    "annotate status project": "web",
    "annotate export project": "web",
    "annotate import project labels.csv": "web",
    "dataset check run --annotators ana --out people": "web",
    "dataset gold set --panel run --people people": "web",
    "train help_or_harm/crisis_type --baseline --out trained": "classifier",
    "train help_or_harm/crisis_type --encoder encoder --out trained": "classifier",
    "run psycrisis --model http://127.0.0.1:1/v1#x --judge rule/refusal --engine ray --out run": "ray",
    "demo": "local",
    "run psycrisis --model local/smollm2-135m --judge rule/refusal --out run": "local",
}
WITHOUT_NEED = ("--version", "list", "new mine", "list ./mine", "data list")
PARTS = ("annotation.", "commands.annotate.", "commands.dataset.check", "commands.dataset.gold", "commands.inspect.", "reports.view.", "reports.export.straight")  # fmt: skip
"""What may import a package of an extra at the top of a file; no command but these takes anything of it."""


def imported() -> dict[str, set[str]]:
    """Return the packages that our code imports, and where."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                found.setdefault(name.partition(".")[0], set()).add(path.relative_to(ROOT).as_posix())
    return {name: files for name, files in found.items() if name not in {*sys.stdlib_module_names, *LATER, "mindgauge"}}


def declared(requirements: list[str]) -> set[str]:
    return {plain(re.split(r"[\s\[<>=;!~]", requirement, maxsplit=1)[0]) for requirement in requirements}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_that_is_imported_is_declared_where_its_command_needs_it() -> None:
    packages = packages_distributions()
    core = declared(PROJECT["dependencies"])
    extras = {extra: declared(names) for extra, names in PROJECT["optional-dependencies"].items()}
    for package, files in imported().items():
        of = {plain(name) for name in packages.get(package, [package])}
        if not of & core:
            known = [extra for extra, names in extras.items() if of & names]
            assert known, f"{package} is imported by {sorted(files)} and not declared"
            assert package in EXTRAS[known[0]], (
                f"{package} is of the extra {known[0]}, which cli/extras.py does not say"
            )
    assert not {package for names in EXTRAS.values() for package in names} & {
        package for package in imported() if {plain(name) for name in packages.get(package, [])} & core
    }
    assert set(EXTRAS) <= set(extras)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Run commands in a process that has no package of any extra."""
    folder = tmp_path_factory.mktemp("without")
    typed = [*NEEDING, *WITHOUT_NEED]
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT, json.dumps([words.split() for words in typed])],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    done, modules = json.loads(child.stdout)
    return dict(zip(typed, done, strict=True)), modules


@pytest.mark.parametrize(("words", "extra"), NEEDING.items())
def test_a_command_that_lacks_an_extra_says_in_one_line_how_to_get_it(without: Any, words: str, extra: str) -> None:
    code, out, err = without[0][words]
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1
    assert f"pip install 'mindgauge[{extra}]'" in err
    if extra == "local":
        assert "llama.cpp" in err


@pytest.mark.parametrize("words", WITHOUT_NEED)
def test_every_other_command_works_without_extras(without: Any, words: str) -> None:
    code, out, err = without[0][words]
    assert code == 0, err
    assert out


def test_nothing_else_imports_a_package_of_an_extra_when_it_is_loaded(without: Any) -> None:
    beyond = [entry for entry in without[1] if not entry[0].removeprefix("mindgauge.").startswith(PARTS)]
    assert not beyond


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "mindgauge", "list", "nothing"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert said.returncode == 2
    assert said.stderr.startswith("mindgauge: unknown benchmark 'nothing'")
