"""One word per idea, twelve rooms, no circle: what a reader of the code may rely on."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import mindgauge

if TYPE_CHECKING:
    from collections.abc import Iterator

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
WIDE = {
    "cli/annotate.py:new": "the command line is the signature: an option is a parameter",
    "cli/judges.py:stress": "as above",
    "cli/judges_compare.py:compare": "as above",
    "cli/rate.py:rate": "as above",
    "cli/run.py:run": "as above",
    "cli/export.py:export": "as above",
    "cli/reliability.py:reliability": "as above",
    "cli/train.py:train": "as above",
}
"""Functions that may have more parameters, and why."""


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Return every module of the package by its dotted name."""
    parsed = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(["mindgauge", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
        parsed[name] = path, ast.parse(path.read_text(encoding="utf-8"))
    return parsed


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    for path, tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield path.relative_to(SOURCE).as_posix(), node


def imports(name: str) -> set[str]:
    """Return the modules that one imports anywhere: at its top, in a function, for types alone."""
    known = modules()
    path, tree = known[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            imported.update(dotted if (dotted := f"{base}.{alias.name}") in known else base for alias in node.names)
    return (imported & known.keys()) - {name}


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for place, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        places[node.name].append(f"{place}:{node.lineno}")
    assert {name: shared for name, shared in places.items() if len(shared) > 1} == {}


def test_assigned_names_are_nouns_of_the_domain() -> None:
    names: Counter[str] = Counter()
    for _, node in nodes(ast.Name, ast.arg):
        if isinstance(node, ast.arg):
            names[node.arg.strip("_")] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id.strip("_")] += 1
    wordless = {name: n for name, n in names.most_common() if name in FUNCTION_WORDS}
    assert sum(wordless.values()) <= ALLOWED * names.total(), wordless


def test_no_function_is_wider_than_a_reader_can_hold() -> None:
    wide = {}
    for place, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if len(parameters) > WIDEST:
            wide[f"{place}:{node.name}"] = len(parameters)
    assert wide.keys() - WIDE.keys() == set(), wide
    assert WIDE.keys() - wide.keys() == set(), "these are narrow by now: they need no exception"


def test_no_module_is_part_of_a_circle() -> None:
    graph = {name: imports(name) for name in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_the_house_has_twelve_rooms() -> None:
    entries = {path.name for path in SOURCE.iterdir() if path.is_file() or any(path.rglob("*.py"))}
    assert entries == ROOMS | {"__init__.py", "py.typed"}


def test_no_room_takes_the_place_of_a_public_function() -> None:
    # Python puts a package into its parent's namespace when it is imported: mindgauge.run(...) would be a module.
    assert ROOMS & set(mindgauge.__all__) == set()
