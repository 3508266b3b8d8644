"""One word per idea, twelve rooms, no circle: what a reader of the code may rely on."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import mindgauge
from tests.made_once import made_once

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

SOURCE = Path(mindgauge.__file__).parent
ROOMS = {
    "analysis", "annotation", "benchmarks", "cli", "commands", "models", "raters", "records", "reports", "runs", "stats", "store",
}  # fmt: skip
FUNCTION_WORDS = frozenset(
    """
    found one ones said told its left whole given there theirs mine their them they these those this that such
    what which who whose where when how why each every either both all any some none another more most less least
    here now then once again still yet also too so as at by for from in into of off on onto out over to up upon with
    within without it he she his hers him her our ours we us you your yours my me
    made done asked put got gone came kept taken seen known called shown held written met brought sent
    two three later earlier after above below beside beyond apart ahead along around away back
    much many few several enough only even just not no yes is are was were be been being has have had does did do
    thing things stuff something anything nothing everything somebody anybody nobody everybody
    """.split()  # noqa: SIM905 - words read as words
) - {"all", "any", "both"}  # fmt: skip
"""Words that say nothing of what they name; `all` and `any` are names of sets in code."""
ALLOWED = 0.015
"""The share of assigned names that may be such words; in well-kept libraries it is at most 1.3 %."""
WIDEST = 12
WIDE: dict[str, str] = {}
"""Functions that may have more parameters, and why."""


class Code(NamedTuple):
    """What the tests ask of a module's code."""

    place: str
    classes: list[tuple[str, int]]
    """With the line of each."""
    names: Counter[str]
    """Those of parameters, and of what is assigned."""
    functions: list[tuple[str, int]]
    """With the number of each one's parameters."""
    imported: set[str]
    """Modules of ours that it imports anywhere: at its top, in a function, for types alone."""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Code]:
    """Every module of the package by its dotted name; one worker walks them all, once."""
    return made_once(tmp_path_factory, "names", lambda _: walked())


def walked() -> dict[str, Code]:
    paths = {
        ".".join(["mindgauge", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in sorted(SOURCE.rglob("*.py"))
    }
    return {name: read(name, path, paths.keys()) for name, path in paths.items()}


def read(name: str, path: Path, known: AbstractSet[str]) -> Code:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    code = Code(path.relative_to(SOURCE).as_posix(), [], Counter(), [], set())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef():
                code.classes.append((node.name, node.lineno))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                code.functions.append((node.name, len(parameters)))
            case ast.arg():
                code.names[node.arg.strip("_")] += 1
            case ast.Name(ctx=ast.Store()):
                code.names[node.id.strip("_")] += 1
            case ast.Import():
                code.imported.update(alias.name for alias in node.names)
            case ast.ImportFrom():
                above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                dotted = (f"{base}.{alias.name}" for alias in node.names)
                code.imported.update(module if module in known else base for module in dotted)
    return code._replace(imported=(code.imported & known) - {name})


def test_no_two_classes_share_a_name(modules: dict[str, Code]) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for code in modules.values():
        for name, line in code.classes:
            places[name].append(f"{code.place}:{line}")
    assert {name: shared for name, shared in places.items() if len(shared) > 1} == {}


def test_assigned_names_are_nouns_of_the_domain(modules: dict[str, Code]) -> None:
    names = sum((code.names for code in modules.values()), Counter[str]())
    wordless = {name: n for name, n in names.most_common() if name in FUNCTION_WORDS}
    assert sum(wordless.values()) <= ALLOWED * names.total(), wordless


def test_no_function_is_wider_than_a_reader_can_hold(modules: dict[str, Code]) -> None:
    wide = {
        f"{code.place}:{name}": parameters
        for code in modules.values()
        for name, parameters in code.functions
        if parameters > WIDEST
    }
    assert wide.keys() - WIDE.keys() == set(), wide
    assert WIDE.keys() - wide.keys() == set(), "these are narrow by now: they need no exception"


def test_no_module_is_part_of_a_circle(modules: dict[str, Code]) -> None:
    graph = {name: code.imported for name, code in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_the_house_has_twelve_rooms() -> None:
    entries = {path.name for path in SOURCE.iterdir() if path.is_file() or any(path.rglob("*.py"))}
    assert entries == ROOMS | {"__init__.py", "__main__.py", "py.typed"}


def test_no_room_takes_the_place_of_a_public_function() -> None:
    # Python puts a package into its parent's namespace when it is imported: mindgauge.run(...) would be a module.
    assert ROOMS & set(mindgauge.__all__) == set()
