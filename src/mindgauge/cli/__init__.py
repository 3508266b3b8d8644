"""The command line: one command, one file. It parses, calls the command's function, and renders what comes back.

Ctrl-C and SIGTERM are handled here, from before the rest is imported until Python has ended.
"""

from __future__ import annotations

import os
import sys

try:
    import atexit
    import contextlib
    import importlib
    import signal
except KeyboardInterrupt:
    os.write(2, b"mindgauge: stopped; run the same command to begin again\n")
    sys.exit(130)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Never

    from mindgauge.cli.program import COMMANDS, FIRST, app

__all__ = ["COMMANDS", "FIRST", "app", "main"]


_THREADS = "/proc/self/task"
_MUTED = (
    ("threading", "excepthook", lambda _: None),
    ("warnings", "showwarning", lambda *_, **__: None),
)
"""What would print what libraries have to say that are cut off, of objects, threads and tasks that they leave."""


class _Stop:
    """The first signal that asked this command to end, and whether one that comes now may still unwind what is under way."""

    signal = 0
    unwinding = False
    interrupt = KeyboardInterrupt()
    """What was raised; a run that it went through has said in it what is kept."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mindgauge.cli' has no attribute {name!r}")
    return getattr(importlib.import_module("mindgauge.cli.program"), name)


def main() -> None:
    """Run the command line; whatever goes wrong, an interrupt too, is one line and an exit code, not a traceback."""
    try:
        try:
            _prepare()
            code = importlib.import_module("mindgauge.cli.program").execute()
            _Stop.unwinding = False
        except BaseException:  # an interrupt becomes any error on its way through libraries
            _Stop.unwinding = False
            if not _Stop.signal:
                raise
    except KeyboardInterrupt:
        _Stop.unwinding = False
    if _Stop.signal:
        code = 128 + _Stop.signal
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):
                print(_line(), file=stream, flush=True) if stream is sys.stderr else stream.flush()
    sys.exit(code)


def _prepare() -> None:
    """Take over the signals, unless they are to be ignored, and keep files from taking the numbers of closed streams."""
    _Stop.signal, _Stop.unwinding, _Stop.interrupt = 0, True, KeyboardInterrupt()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError):  # in another thread than the first
            if signal.getsignal(number) is not signal.SIG_IGN and signal.signal(number, _stop) is not _stop:
                atexit.register(signal.signal, number, signal.SIG_IGN)  # what is left takes no time, and tells nothing
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _stop(number: int, _: object) -> None:
    """Unwind what is under way; where that has begun, or all is done, end at once."""
    if not _Stop.unwinding or _Stop.signal:
        _end(number)
    _Stop.signal = number
    sys.unraisablehook = lambda _: None
    for module, name, mute in _MUTED:
        if module in sys.modules:
            setattr(sys.modules[module], name, mute)
    with contextlib.suppress(KeyError, AttributeError):
        sys.modules["logging"].disable()
    raise _Stop.interrupt


def _line() -> str:
    kept = " ".join(map(str, _Stop.interrupt.args)) or "run the same command to begin again"
    return f"mindgauge: stopped{' by SIGTERM' if _Stop.signal == signal.SIGTERM else ''}; {kept}"


def _end(number: int) -> Never:
    """End this process, and those that it started."""
    _Stop.signal = _Stop.signal or number
    with contextlib.suppress(OSError):  # where the system does not say which they are
        for thread in os.listdir(_THREADS):  # noqa: PTH208 - starts sooner than pathlib
            with open(f"{_THREADS}/{thread}/children", encoding="ascii") as file:  # noqa: PTH123 - as above
                children = [int(child) for child in file.read().split()]
            for child in children:
                (os.killpg if os.getpgid(child) == child else os.kill)(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.write(2, f"{_line()}\n".encode())
    os._exit(128 + _Stop.signal)
