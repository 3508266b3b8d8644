"""Libraries that the command line loads when they are first used: `list` needs none of them.

They take longer to load than all the rest. Code imports them as usual, at the top of a file; what it gets is the module,
still empty, and the first attribute that anybody asks for fills it. `from numpy import x` asks at once.

Of `scipy.special` we use compiled functions, of `scipy.optimize` one search, which load in a tenth of its time: what these
modules hold is taken from them alone.

Libraries ask the environment once how to work, and are told then. BLAS, which comes with numpy and scipy, asks how many threads
it may use: our matrices are small, so that threads which wait for each other cost several times what they compute, and a sum
that they share depends on how many they are. Polars asks for its engine: a query of a small table takes a quarter of the time in
memory that it takes as a stream; what is large asks for a stream itself.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock, local
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from mindgauge.records.errors import MindgaugeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.abc import Loader

LIBRARIES = frozenset({
    "numpy", "polars", "scipy", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg", "scipy.special",
})  # fmt: skip
COMPILED = {"scipy.optimize": "scipy.optimize._lbfgsb_py", "scipy.special": "scipy.special._ufuncs"}
"""Library → the module inside it that is asked first, without the library around it."""
AT_LOADING = {"OPENBLAS_NUM_THREADS": "1", "POLARS_ENGINE_AFFINITY": "in-memory"}
"""How libraries work, unless the user says otherwise; programs that we start are not told."""
_LEAST, _AMPLE = 1_500, 4_096
"""MiB of address space. With less than the first polars ends the process or waits for ever, which no code of ours can prevent;
with less than the second it works on one thread, for each takes much of it."""
_FILLING = RLock()
_THREAD = local()
"""`alone`: the library of which this thread loads a module of `COMPILED`, whose own imports do not fill it either."""
_UNDER_WAY: set[str] = set()
_ASKED_BY_IMPORT = frozenset({"__class__", "__path__", "__spec__"})
"""What `import` and `isinstance` ask of a module, which an empty one knows."""


def defer() -> None:
    """Let `LIBRARIES` be loaded when they are first used, unless they are loaded already."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the libraries; any other module inside one of them fills that first, as `import` would."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module; None where the usual way is right."""
        del target
        if name not in LIBRARIES:
            library = sys.modules.get(name.rpartition(".")[0])
            if isinstance(library, _Unused) and not _alone(library):
                _fill(library)
                return ModuleSpec(name, cast("Loader", _Loaded(sys.modules[name]))) if name in sys.modules else None
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _WhenUsed(spec.loader))
        return spec


class _Loaded:
    """The loader of a module that its library has loaded meanwhile: it stays as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__
        module.__spec__ = None  # by which `import` would load it a second time

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _WhenUsed:
    """A loader that leaves the work to the first use."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        module.__class__ = _Unused


class _Unused(ModuleType):
    """A module that is filled once somebody asks for something in it."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _ASKED_BY_IMPORT:
            part = f"{self.__spec__.name if self.__spec__ else ''}.{name}"
            if part in LIBRARIES:
                return import_module(part)
            compiled = _compiled(self)
            if compiled is not None and name in vars(compiled) and not name.startswith("_"):
                return getattr(compiled, name)
            if not _alone(self):
                _fill(self)
        return ModuleType.__getattribute__(self, name)


def _compiled(library: ModuleType) -> ModuleType | None:
    """Load a library's compiled functions and nothing else of it; None where it has none, or they moved."""
    spec = ModuleType.__getattribute__(library, "__spec__")
    module = COMPILED.get(spec.name if spec is not None else "")
    if module is None or module in sys.modules:
        return sys.modules.get(module or "")
    with _FILLING, _settled():
        _THREAD.alone = library
        try:
            return import_module(module)
        except ImportError:
            return None
        finally:
            _THREAD.alone = None


def _alone(library: ModuleType) -> bool:
    """Say whether this thread loads a module of a library by itself."""
    return getattr(_THREAD, "alone", None) is library


def _fill(module: ModuleType) -> None:
    """Load a module, after the library that it is part of, unless that is done; another thread waits until it is."""
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    with _FILLING:
        library = sys.modules.get(spec.parent or "")
        if library is not module and isinstance(library, _Unused):
            _fill(library)
        unused = isinstance(module, _Unused)
        if unused and spec.name not in _UNDER_WAY:
            _require_address_space()
            _UNDER_WAY.add(spec.name)
            try:
                with _settled():
                    spec.loader.exec_module(module)
            finally:
                _UNDER_WAY.remove(spec.name)
            module.__class__ = ModuleType


def _require_address_space() -> None:
    """Prepare for a limit of address space (`ulimit -v`).

    Raises:
        MindgaugeError: it is too low for the libraries.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] >> 20
    if 0 <= limit < _LEAST:
        raise MindgaugeError(
            f"`ulimit -v` allows this command {limit:,} MiB, and it needs {_LEAST:,}; raise the limit, then run the same command again"
        )
    if 0 <= limit < _AMPLE:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")


@contextmanager
def _settled() -> Iterator[None]:
    """Let libraries that are loaded meanwhile work as `AT_LOADING` says."""
    unset = {name: value for name, value in AT_LOADING.items() if name not in os.environ}
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]
