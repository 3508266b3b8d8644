"""Ctrl-C and SIGTERM, from before anything else is loaded until Python has ended: one line and an exit code.

The first unwinds what is under way, so that a run is closed and files are put in order. A second ends the process at once.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Never

_STDERR = 2
_AT_ONCE = b"mindgauge: stopped at once; everything finished is kept, run the same command to go on\n"
_THREADS = "/proc/self/task"
_MUTED = (
    ("sys", "unraisablehook", lambda _: None),
    ("threading", "excepthook", lambda _: None),
    ("warnings", "showwarning", lambda *_, **__: None),
)
"""What would print what libraries have to say that are cut off, of objects, threads and tasks that they leave."""


class _Command:
    """The command that this process runs."""

    signal = 0
    """The first one that asked it to end."""
    interrupt = KeyboardInterrupt()
    """What was raised then; a run that it goes through says in it what is kept."""
    code: int | None = None
    """Its exit code, once all is said."""


def run(program: str) -> Never:
    """Run a module's `execute`, which returns an exit code, and end with that.

    Args:
        program: the module, which is loaded here.
    """
    _Command.signal, _Command.interrupt, _Command.code = 0, KeyboardInterrupt(), None
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: _stop for number, handler in handlers.items() if handler is not signal.SIG_IGN}
    alone = hasattr(sys.modules["__main__"], "main")
    """Whether Python ends with this command, which another program has called otherwise."""
    try:
        try:
            _handle(ours)
            if alone:
                atexit.register(_handle, dict.fromkeys(ours, signal.SIG_IGN))  # what is left then takes no time
            _open_closed()
            _Command.code = importlib.import_module(program).execute()
        except BaseException as error:  # an interrupt becomes any error on its way through libraries
            if not _Command.signal and not isinstance(error, KeyboardInterrupt):
                _Command.code = 1
                _handle(ours if alone else handlers)
                raise
            _Command.signal = _Command.signal or signal.SIGINT
    except KeyboardInterrupt:
        pass
    if _Command.signal:
        _handle(dict.fromkeys(handlers, signal.SIG_IGN))
        _end_children()
        by = " by SIGTERM" if _Command.signal == signal.SIGTERM else ""
        advice = " ".join(" ".join(_Command.interrupt.args).split()) or "run the same command to begin again"
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all
            sys.stdout.flush()
            sys.stderr.write(f"mindgauge: stopped{by}; {advice}\n")
            sys.stderr.flush()
        _Command.code = 128 + _Command.signal
    _handle(ours if alone else handlers)
    sys.exit(_Command.code)


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    with contextlib.suppress(ValueError):  # in another thread than the first
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _open_closed() -> None:
    """Keep files from taking the numbers of standard streams that are closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _stop(number: int, _: object) -> None:
    """Unwind what is under way; where that has begun, or all is done, end at once."""
    if _Command.signal or _Command.code is not None:
        _end(number)
    _Command.signal = number
    for module, name, mute in _MUTED:
        if module in sys.modules:
            setattr(sys.modules[module], name, mute)
    with contextlib.suppress(KeyError, AttributeError):
        sys.modules["logging"].disable()
    raise _Command.interrupt


def _end_children() -> None:
    with contextlib.suppress(OSError):  # where the system does not say which they are
        for thread in os.listdir(_THREADS):  # noqa: PTH208 - starts sooner than pathlib
            with open(f"{_THREADS}/{thread}/children", encoding="ascii") as file:  # noqa: PTH123 - as above
                children = [int(child) for child in file.read().split()]
            for child in children:
                (os.killpg if os.getpgid(child) == child else os.kill)(child, signal.SIGKILL)


def _end(number: int) -> Never:
    """End this process, and those that it started."""
    _end_children()
    if _Command.code is None:
        with contextlib.suppress(OSError):
            os.write(_STDERR, _AT_ONCE)
    os._exit(128 + (_Command.signal or number) if _Command.code is None else _Command.code)
