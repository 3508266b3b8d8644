"""Which benchmarks there are: our folders, those of installed packages, and any folder named by its path.

A folder of ours is a benchmark if it has a module of its own name in which a `Benchmark` stands; a user's needs no Python
(`own_folder`), and may have such a module. A package brings its own by the entry point `mindgauge.benchmarks`, whose object
is a benchmark, several, a module in which they stand, or a package whose folder is one without Python. What cannot be loaded
is named where somebody asks for it, and keeps nobody from the others.

A benchmark may be code. A folder's is run only once the user has named that folder on this machine, never because a run
that may come from somebody else names it; and once more when its code or settings have changed since.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks import own_folder, suite
from mindgauge.benchmarks.benchmark import HERE, Benchmark
from mindgauge.records import installed
from mindgauge.records.english import nearest
from mindgauge.records.errors import FaultsError, UsageError
from mindgauge.records.files import private
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = "mindgauge.benchmarks"
NAMED = "benchmarks.json"


class _Known(NamedTuple):
    """The benchmarks that could be loaded by name, and why others could not."""

    benchmarks: dict[str, Benchmark]
    broken: dict[str, str]

    def load(
        self, name: str, load: Callable[[], object], families: frozenset[str] = frozenset(), *, named: bool = False
    ) -> None:
        """Load what stands under a name, which is in none of some families; a fault of a stranger's code is kept, whatever it is.

        Raises:
            FaultsError: the user named a folder, and its files are faulty.
        """
        try:
            loaded = self._new(load(), name, families)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if named and isinstance(error, FaultsError):
                raise
            self.broken[name] = installed.fault(error, Path(name) if named else None)
        else:
            self.benchmarks.update(loaded)

    def _new(self, loaded: object, name: str, families: frozenset[str]) -> dict[str, Benchmark]:
        """Return the benchmarks of what was loaded: itself, those in it, those in a module, or that in a package's folder."""
        items = [loaded] if isinstance(loaded, Benchmark) else loaded if isinstance(loaded, Iterable) else vars(loaded).values()  # fmt: skip
        loaded_before = {
            id(benchmark) for benchmark in self.benchmarks.values()
        }  # a module may take another's for its own use
        benchmarks = {
            item.name: item for item in items if isinstance(item, Benchmark) and id(item) not in loaded_before
        }
        file = Path(getattr(loaded, "__file__", None) or "")
        if not benchmarks and file.name == "__init__.py" and (file.parent / own_folder.CARD).is_file():
            benchmarks = {name: Benchmark.from_folder(file.parent, name=name)}
        if not benchmarks:
            raise UsageError("no Benchmark stands in it")
        twice = {known for known, new in benchmarks.items() if self.benchmarks.get(known, new) is not new}
        if twice:  # a module may import what stands in another
            raise UsageError(f"there is another benchmark named {min(twice)}")
        if collisions := {new for new in benchmarks if new.partition("/")[0] in families}:
            raise UsageError(
                f"{min(collisions)} is a name of Mindgauge's own: the package must call its benchmark otherwise"
            )
        return benchmarks


@functools.cache
def _known() -> _Known:
    registered = _Known({}, {})
    for path in sorted(p for p in (*HERE.glob("*/*.py"), *HERE.glob("*/*/*.py")) if p.stem == p.parent.name):
        place = path.relative_to(HERE).parent
        module = ".".join(("mindgauge.benchmarks", *place.parts, path.stem))
        registered.load(place.as_posix(), functools.partial(importlib.import_module, module))
    families = frozenset(name.partition("/")[0] for name in registered.benchmarks)
    points, broken = installed.entry_points(GROUP)
    for name, point in points.items():
        registered.load(name, functools.partial(installed.load, point), families)
    registered.broken.update(broken)
    return registered


@functools.cache
def _shipped(name: str) -> Benchmark | None:
    """Return a benchmark of this package by its whole name, without loading the others; None where that takes them all.

    It stands in a folder of its own, or with the rest of its family.
    """
    parts = name.split("/")
    if not all(map(str.isidentifier, parts)):
        return None
    for place in (parts, parts[:-1]):
        if place and HERE.joinpath(*place, f"{place[-1]}.py").is_file():
            try:
                module = importlib.import_module(".".join(("mindgauge.benchmarks", *place, place[-1])))
            except Exception:  # noqa: BLE001 - `_known` keeps what is wrong with it
                return None
            return next((b for b in vars(module).values() if isinstance(b, Benchmark) and b.name == name), None)
    return None


def shipped(name: str) -> bool:
    """Say whether a benchmark of this package has this name."""
    return _shipped(name) is not None


def outside(benchmarks: Iterable[Benchmark]) -> dict[str, str]:
    """Return the folders of benchmarks that are found by no name, for the manifest of a run."""
    return {
        b.name: str(b.folder)
        for b in benchmarks
        if not b.standalone and not _is(_shipped(b.name), b) and not _is(_known().benchmarks.get(b.name), b)
    }


def _is(other: Benchmark | None, benchmark: Benchmark) -> bool:
    """Whether two are the same benchmark, be one of them as it is asked in a run that criteria joined."""
    return other is not None and other.folder == benchmark.folder


def names() -> list[str]:
    """Return the names of all benchmarks that can be loaded."""
    return sorted(_known().benchmarks)


def broken(name: str = "") -> dict[str, str]:
    """Return the benchmarks of this name, family or suite that cannot be loaded, and why; all if no name is given."""
    name = name.rstrip("/")
    members = [name, *_members_elsewhere(name)]
    return {
        place: fault
        for place, fault in _known().broken.items()
        if not name or any(_within(place, member) or _within(member, place) for member in members)
    }


def _within(name: str, family: str) -> bool:
    return name == family or name.startswith(f"{family}/")


def _members_elsewhere(name: str) -> list[str]:
    """Return the members of a suite, or its member of this name, that other families bring."""
    family, _, member = name.partition("/")
    return [other for other in suite.members_elsewhere(family) if member in {"", other.rpartition("/")[2]}]


def find(name: str) -> list[Benchmark]:
    """Return the benchmark of this name, or the members of the family or suite of this name; no folder is looked into.

    A suite may count benchmarks of other families among its members; these keep their own names.

    Raises:
        UsageError: there is none, and the message names the nearest; or it cannot be loaded.
    """
    name = name.rstrip("/")
    if (shipped := _shipped(name)) is not None:
        return [shipped]
    registered = _known().benchmarks
    if name in registered:
        return [registered[name]]
    elsewhere = _members_elsewhere(name)
    if members := [other for other in registered if other.startswith(f"{name}/") or other in elsewhere]:
        order = suite.order(name.partition("/")[0])
        return [registered[other] for other in sorted(members, key=lambda other: order.get(other, len(order)))]
    for place, fault in broken(name).items():
        raise UsageError(f"benchmark {place} cannot be loaded: {fault}")
    choices = sorted({*registered, *(key.split("/")[0] for key in registered)})
    hint = nearest(name, choices, f"known are {', '.join(choices)}.", 0.4)
    raise UsageError(f"unknown benchmark {name!r}: {hint} A folder of your own is named by its path, ./{name if Path(name).is_dir() else 'FOLDER'}")  # fmt: skip


def is_path(name: str) -> bool:
    """Whether the user means a folder: by its path, or by the name alone of one that is here, holds no code, and has none of ours."""
    if name.startswith((".", "/", "~")):
        return True
    folder = Path(name)
    if not own_folder.is_one(folder) or own_folder.has_code(folder):
        return False
    return name.rstrip("/") not in {*names(), *(known.split("/")[0] for known in names())}


def asked(name: str) -> list[Benchmark]:
    """Return what the user names: the benchmark in a folder, or what `find` returns.

    Only for what was typed here. What stands in a file may come from anybody, and a folder's benchmark may be code.

    Raises:
        UsageError: there is none, or it cannot be loaded, or a metric of its own fails on made-up ratings.
    """
    if not is_path(name):
        loaded = find(name)
    else:
        folder = Path(name).expanduser().resolve()
        content = own_folder.digest(folder)  # before its code can change what is remembered
        loaded = _of_folder(folder)
        private.write_state(NAMED, _named() | {str(folder): content})
    for benchmark in loaded:
        benchmark.try_metrics()
    return loaded


def _named() -> dict[str, str]:
    """Return the folders that the user has named on this machine, and the digest of what they held then."""
    return private.read_state(NAMED, dict[str, str]) or {}


def of_run(name: str, folders: object, run: Path) -> list[Benchmark]:
    """Return the benchmark that a run is of, or the members of the family.

    Args:
        name: as the run has it.
        folders: what its manifest says of benchmarks that are found by no name.
        run: the run's folder, for the message.

    Raises:
        UsageError: there is none, it cannot be loaded, or it stands in a folder whose code the user has not named here as it is.
    """
    folder = folders.get(name) if isinstance(folders, dict) else None
    if folder is None:
        return find(name)
    if own_folder.has_code(Path(folder)) and (named := _named().get(folder)) != own_folder.digest(Path(folder)):
        problem = "has changed since you last named it here" if named else "has not been run on this machine"
        raise UsageError(
            f"{run} is of the benchmark {name} in {folder}, whose code {problem}; "
            f"if you trust it, run: {command_line('list', folder)}"
        )
    return [benchmark for benchmark in _of_folder(Path(folder)) if benchmark.name == name]


def _of_folder(folder: Path) -> list[Benchmark]:
    """Return the benchmark of a folder, as its files are now."""
    return _in_folder(folder, _state_of(folder))


def _state_of(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return what changes when a file of a folder does."""
    try:
        return tuple(sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()))
    except OSError:
        return ()


@functools.cache
def _in_folder(folder: Path, files: tuple[tuple[str, int], ...]) -> list[Benchmark]:  # noqa: ARG001 - decides what is cached
    """Load the benchmark of a folder that belongs to no package."""
    registered = _Known(dict(_known().benchmarks), {})
    registered.load(str(folder), functools.partial(_content, folder), named=True)
    for reason in registered.broken.values():
        raise UsageError(f"{folder}: the benchmark cannot be loaded: {reason}")
    return list(registered.benchmarks.values())[len(_known().benchmarks) :]


def _content(folder: Path) -> object:
    """Return what stands in a folder's module, or where there is none, the benchmark that its files make."""
    module = own_folder.module_of(folder)
    if module is None:
        return Benchmark.from_folder(folder)
    content = own_folder.loaded(module, f"mindgauge_benchmark_{folder.name}")
    whole = module.stem == folder.name or any(isinstance(item, Benchmark) for item in vars(content).values())
    return content if whole else Benchmark.from_folder(folder)


def of_family(name: str) -> list[Benchmark]:
    """Return the same without what a suite counts among its members and belongs to another family, with data of its own.

    Raises:
        UsageError: there is none of this name.
    """
    members, family = find(name), name.partition("/")[0]
    return [member for member in members if member.name.partition("/")[0] == family] or members


def asked_family(name: str) -> list[Benchmark]:
    """Return what the user names (see `asked`), of a family without members that belong to another.

    Raises:
        UsageError: there is none, or it cannot be loaded.
    """
    return asked(name) if is_path(name) else of_family(name)


def find_one(name: str) -> Benchmark:
    """Return the benchmark of this name, where only one will do.

    Raises:
        UsageError: there is none, or it is a family.
    """
    return _one(name, find(name))


def asked_one(name: str) -> Benchmark:
    """Return the benchmark that the user names (see `asked`), where only one will do.

    Raises:
        UsageError: there is none, it cannot be loaded, or it is a family.
    """
    return _one(name, asked(name))


def _one(name: str, benchmarks: list[Benchmark]) -> Benchmark:
    if len(benchmarks) > 1:
        raise UsageError(f"{name} is a family; name one of {', '.join(b.name for b in benchmarks)}")
    return benchmarks[0]
