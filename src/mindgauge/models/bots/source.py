"""Python code of a user's own: where it comes from, what it is made of, and what it may be called with."""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mindgauge.models.bots.template import MESSAGE, MESSAGES, PLACEHOLDERS
from mindgauge.records import digest, installed
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.request import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType

_DIGITS = 16
ACCEPTED = (
    "a function takes `message` (a str, the person's last message) or `messages` (a list of {role, content}), and may take "
    "`conversation` (a str)"
)


def setup(kind: str, what: object, files: dict[str, str], **more: Any) -> Setup:
    """Return what changes the answers of somebody's own code: what is called, and the hashes of its files."""
    return Setup({"kind": kind, kind: what, "source": files, **{name: value for name, value in more.items() if value}})


# -- what it is made of ----------------------------------------------------------------------------------------------------


def files(*paths: Path) -> dict[str, str]:
    """Hash files, and of Python files also those beside them that they import: path from the first one's folder → hash.

    What they import from elsewhere, and files that they read when they run, are not seen.

    Raises:
        UsageError: one cannot be read.
    """
    hashes: dict[str, str] = {}
    waiting = [(path, path.parent) for path in reversed(paths)]
    while waiting:
        path, folder = waiting.pop()
        name = path.relative_to(folder).as_posix()
        if name in hashes:
            continue
        try:
            content = bounds.content(path)
        except OSError as error:
            raise UsageError(f"{path}: cannot read it ({error.strerror})") from error
        hashes[name] = hashlib.blake2b(content).hexdigest()[:_DIGITS]
        if path.suffix == ".py":
            waiting += [(other, folder) for other in _beside(path, content, folder)]
    return hashes


def _beside(path: Path, content: bytes, folder: Path) -> Iterator[Path]:
    """Return the files below a folder that a Python file imports, wherever in it."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return  # said when it is loaded
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            within = path.parent.relative_to(folder).parts if node.level else ()
            within = within[: len(within) - node.level + 1] if node.level else within
            base = ".".join([*within, *([node.module] if node.module else [])])
            modules = [base, *(f"{base}.{alias.name}".strip(".") for alias in node.names)]
        else:
            continue
        for module in modules:
            parts = module.split(".") if module else []
            for depth in range(1, len(parts) + 1):
                stem = folder.joinpath(*parts[:depth])
                yield from (other for other in (stem.with_suffix(".py"), stem / "__init__.py") if other.is_file())


def of_object(function: Callable[..., Any]) -> Setup:
    """Return the set-up of a function or class that exists already.

    Of one in a module of a file this is the file, and those beside it; of one in a script or a notebook it is what it
    is compiled to, with the functions, classes and plain values of the same module that it names.
    """
    plain: Any = inspect.unwrap(function)
    plain = plain if hasattr(plain, "__qualname__") else type(plain)
    module = sys.modules.get(plain.__module__)
    path = getattr(module, "__file__", None)
    if plain.__module__ != "__main__" and path and Path(path).is_file():
        return setup("function", plain.__qualname__, files(Path(path)))
    return setup("function", plain.__qualname__, {plain.__qualname__: digest(_compiled(plain, set()))[:_DIGITS]})


def _compiled(thing: Any, seen: set[int]) -> Any:
    """Describe code by what it does, whatever its layout and comments."""
    thing = inspect.unwrap(getattr(thing, "__func__", thing)) if callable(thing) else thing
    if isinstance(thing, str | int | float | bool | None | tuple | list | dict | set | frozenset):
        return _written(thing) if _plain(thing) else ""
    if id(thing) in seen:
        return ""
    seen.add(id(thing))
    if inspect.isclass(thing):
        return [thing.__qualname__, *(_compiled(part, seen) for _, part in sorted(vars(thing).items()) if _code(part))]
    code = getattr(thing, "__code__", None)
    if code is None:
        return ""
    module = thing.__globals__
    names = sorted(name for name in _names(code) if name in module)
    used = [[name, _compiled(module[name], seen)] for name in names if _code(module[name], thing.__module__)]
    cells = [_compiled(cell.cell_contents, seen) for cell in thing.__closure__ or () if _filled(cell)]
    return [_bytes(code), _written(thing.__defaults__) if _plain(thing.__defaults__) else "", used, cells]


def _written(thing: Any) -> str:
    """Write a plain value alike in every process: the order of a set is another in each."""
    if isinstance(thing, set | frozenset):
        return str(sorted(map(_written, thing)))
    if isinstance(thing, tuple | list):
        return str([*map(_written, thing)])
    return repr(thing)


def _code(thing: Any, module: str | None = None) -> bool:
    """Whether something is part of what code does: a plain value, or a function or class (of a module)."""
    if isinstance(thing, staticmethod | classmethod):
        return True
    if inspect.isfunction(thing) or inspect.isclass(thing):
        return module is None or thing.__module__ == module
    return _plain(thing)


def _plain(thing: Any) -> bool:
    if isinstance(thing, tuple | list | set | frozenset):
        return all(map(_plain, thing))
    if isinstance(thing, dict):
        return all(_plain(key) and _plain(value) for key, value in thing.items())
    return isinstance(thing, str | int | float | bool | None)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names(code: CodeType) -> set[str]:
    inner = (part for part in code.co_consts if inspect.iscode(part))
    return {*code.co_names, *(name for part in inner for name in _names(part))}


def _bytes(code: CodeType) -> list[Any]:
    consts = [_bytes(part) if inspect.iscode(part) else _written(part) for part in code.co_consts]
    return [code.co_code.hex(), consts, [*code.co_names]]


# -- loading it ------------------------------------------------------------------------------------------------------------

_LOADED: dict[tuple[str, str], ModuleType] = {}
"""By path and the hash of all sources: a changed file is loaded anew."""
_FOLDERS: set[str] = set()
"""Where files were loaded from."""


def load(path: Path, name: str, spec: str) -> Callable[..., Any]:
    """Load a function or class from a file.

    Raises:
        UsageError: there is no such file or nothing of that name in it, or it cannot be imported.
    """
    if not path.is_file():
        raise UsageError(f"{spec}: there is no file {path}")
    place = (str(path.resolve()), digest(files(path)))
    if place not in _LOADED:
        _LOADED[place] = _imported(path.resolve(), place[1], spec)
    module = _LOADED[place]
    function: Any = getattr(module, name, None)
    if not callable(function):
        own = [n for n, member in vars(module).items() if callable(member) and getattr(member, "__module__", "") == module.__name__]  # fmt: skip
        raise UsageError(
            f"{spec}: {path.name} has no function or class {name!r}; it has {', '.join(own) or 'none at all'}"
        )
    code: Callable[..., Any] = function
    return code


def _imported(path: Path, mark: str, spec: str) -> ModuleType:
    """Import a file; modules beside it that an earlier version or another bot left are imported anew."""
    folder = path.parent
    folder_modules = {folder / name for name in files(path)}
    for other in folder_modules:
        if other.suffix == ".py":
            with contextlib.suppress(OSError):  # bytecode goes by whole seconds: it can be that of an earlier version
                Path(importlib.util.cache_from_source(other)).unlink(missing_ok=True)
    stems = {other.stem for other in folder_modules}
    for name, module in [*sys.modules.items()]:
        file = Path(getattr(module, "__file__", None) or "")
        if file in folder_modules or (name in stems and str(file.parent) in _FOLDERS):
            del sys.modules[name]
    # Behind everything else, so that nothing of ours is taken from there, and before the folders of other bots.
    first = next((place for place, entry in enumerate(sys.path) if entry in _FOLDERS), len(sys.path))
    if str(folder) in _FOLDERS and str(folder) in sys.path[first:]:
        sys.path.reverse()
        sys.path.remove(str(folder))
        sys.path.reverse()
    if str(folder) not in sys.path:
        sys.path.insert(first, str(folder))
        _FOLDERS.add(str(folder))
    importlib.invalidate_caches()
    name = f"_mindgauge_{path.stem}_{mark[:8]}"
    spec_of_file = importlib.util.spec_from_file_location(name, path)
    assert spec_of_file is not None
    assert spec_of_file.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec_of_file)
    try:
        with installed.unprinted():
            spec_of_file.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UsageError(f"{spec}: cannot load it ({installed.fault(error, folder)})") from error
    return module


# -- what it may be called with --------------------------------------------------------------------------------------------


class Call:
    """How a function takes what it is told."""

    def __init__(
        self,
        function: Callable[..., Any],
        spec: str,
        allowed: tuple[str, ...] = PLACEHOLDERS,
        *,
        of_instance: bool = False,
    ) -> None:
        """Look at its signature.

        Args:
            function: a function, or one of a class.
            spec: what messages call it.
            allowed: what it may take.
            of_instance: whether its first parameter is the instance.

        Raises:
            UsageError: it needs something that it is not told, or takes nothing that a person says.
        """
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{spec}: cannot see what it takes; {ACCEPTED}") from error
        self.function = function
        self._takes: dict[str, str] = {}
        self._by_place: list[str] = []
        parameters = [p for p in signature.parameters.values() if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
        parameters = parameters[of_instance:]
        needed = [p for p in parameters if p.default is p.empty]
        for parameter in parameters:
            meaning = parameter.name if parameter.name in allowed else ""
            if not meaning and len(needed) == 1 and parameter in needed and MESSAGE in allowed:
                meaning = _meaning(parameter.annotation)
            if not meaning and parameter in needed:
                hint = ACCEPTED if MESSAGE in allowed else "start() takes nothing, or `conversation` (a str)"
                raise UsageError(f"{spec}: what is its parameter `{parameter.name}`? {hint}")
            if not meaning:
                continue
            if meaning in {MESSAGE, MESSAGES} and _meaning(parameter.annotation) not in {"", meaning}:
                raise UsageError(f"{spec}: `{parameter.name}` has another type than it would get; {ACCEPTED}")
            self._takes[parameter.name] = meaning
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._by_place.append(parameter.name)
        if MESSAGE in allowed and not self.takes & {MESSAGE, MESSAGES}:
            raise UsageError(f"{spec}: it takes nothing that a person says; {ACCEPTED}")

    @classmethod
    def of_method(cls, owner: Any, name: str, spec: str, allowed: tuple[str, ...] = PLACEHOLDERS) -> Self:
        """Look at a method of a class whose instances do not exist yet; see `on`."""
        plain = inspect.isfunction(inspect.getattr_static(owner, name))
        return cls(getattr(owner, name), spec, allowed, of_instance=plain)

    def on(self, bound: Callable[..., Any]) -> Self:
        """Return the same of an instance."""
        call = copy.copy(self)
        call.function = bound
        return call

    @property
    def takes(self) -> set[str]:
        """What it is told, of `PLACEHOLDERS`."""
        return set(self._takes.values())

    def __call__(self, **told: Any) -> Any:
        """Call it with what it takes of all this."""
        values = {name: told[meaning] for name, meaning in self._takes.items()}
        return self.function(*(values.pop(name) for name in self._by_place), **values)


def _meaning(annotation: Any) -> str:
    """Return what a parameter is by its type: text the last message, a list all of them; empty where that is not said."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = text.rpartition(".")[2].strip().casefold() if "[" not in text else text.partition("[")[0].rpartition(".")[2]
    if text.casefold() == "str":
        return MESSAGE
    return MESSAGES if text.casefold() in {"list", "sequence", "iterable"} else ""


def class_of(function: Callable[..., Any], spec: str) -> bool:
    """Whether it is a class with `reply`, one instance of which is made for each conversation.

    Raises:
        UsageError: it is a class that cannot be used so.
    """
    if not inspect.isclass(function):
        return False
    if not callable(getattr(function, "reply", None)):
        raise UsageError(f"{spec}: a class needs a method reply(self, message) or reply(self, messages); it has none")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
    if needed:
        raise UsageError(
            f"{spec}: an instance is made for each conversation, without arguments; its constructor needs `{needed[0]}`"
        )
    return True
