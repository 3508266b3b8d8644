"""`papers fetch`: bring the released files that may be had freely; of the others, say how to ask for them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from mindgauge.commands.command import CommandOption, command
from mindgauge.commands.data import released
from mindgauge.commands.data.download import PublicFile, UnreachableError, download, is_whole, session
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, EndpointError, MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import aiohttp

    from mindgauge.commands.data.released import FamilyFiles

MIRROR = "MINDGAUGE_MIRROR"
"""The variable of the environment that names a mirror."""
_AT_ONCE = 4
_ADVICE = (
    "give a mirror with --mirror, or a proxy with HTTPS_PROXY; what has come is kept, and the same command goes on"
)


class FetchedFile(msgspec.Struct, frozen=True):
    """What became of a released file: `here` before, `fetched` now, or `failed`, and why."""

    path: str
    state: str
    size: int
    reason: str = ""


class FetchedData(Tabular, msgspec.Struct, frozen=True):
    """What is here now of a benchmark's released files, for `--data`; true where all is that may be had freely."""

    benchmark: str
    folder: str
    files: list[FetchedFile]
    on_request: list[str]
    obtain: str

    def __bool__(self) -> bool:
        return bool(self.files) and not self.failed

    def __fspath__(self) -> str:
        return self.folder

    @property
    def failed(self) -> list[FetchedFile]:
        """The files that are not here."""
        return [file for file in self.files if file.state == "failed"]

    def summary(self) -> Iterator[str]:
        """Say what is here, what could not be had and why, and how to get the rest."""
        if self.files:
            fetched = [file for file in self.files if file.state == "fetched"]
            size = count(sum(file.size for file in fetched))
            yield (
                f"{self.folder}: {len(self.files) - len(self.failed)} of {plural(len(self.files), 'file')} of "
                f"{self.benchmark}, {len(fetched)} of them fetched now ({size} bytes)"
            )
        yield from noted(list(dict.fromkeys(file.reason for file in self.failed)), 4)
        if self.on_request:
            yield f"Not fetched, for it is given on request, or its content is not known here: {named(self.on_request, limit=6)}"
            yield self.obtain

    def _listed(self) -> Sequence[FetchedFile]:
        return self.files


class _Errand(NamedTuple):
    """What to bring from where: the files of a family, their folder, and a mirror, if any."""

    family: FamilyFiles
    folder: Path
    mirror: str

    def url(self, file: PublicFile) -> str:
        """Where a file is asked for: a mirror has the folder of a family as it is here."""
        return f"{self.mirror.rstrip('/')}/{self.family.family}/{file.path}" if self.mirror else file.url


@command(without="pause")
def papers_fetch(
    name: Annotated[str, CommandOption(metavar="[NAME]")], *, out: str | Path | None = None, mirror: str | None = None, pause: float = 1.0,
    say: Callable[[str], None] | None = None,
) -> FetchedData:  # fmt: skip
    """Bring the released files that may be had freely, each by its SHA-256; without a name, list what can be fetched. Exit code 1: not all could be had.

    A file that is here stays as it is; what has come of one that broke off is gone on with. Proxies of the environment
    are used (`HTTPS_PROXY`, `NO_PROXY`).

    Args:
        name: A benchmark or family; if not given, all are listed.
        out: The folder of the files; if not given, data/FAMILY.
        mirror: Ask here in place of the authors' servers; also MINDGAUGE_MIRROR.
        pause: seconds before the second try of a file.
        say: is told of each file.

    Raises:
        UsageError: there is no such benchmark, the mirror is no address, or something else stands where a file belongs.
        EndpointError: a server cannot be reached at all.
        OSError: the files cannot be written.
    """
    (family,) = released.families([name])
    mirror = mirror if mirror is not None else os.environ.get(MIRROR, "")
    if mirror and not mirror.startswith(("http://", "https://")):
        raise UsageError(f"--mirror {mirror}: an address begins with http:// or https://; a folder is given as --data")
    errand = _Errand(family, released.place(family, out), mirror)
    files = asyncio.run(_fetched(errand, pause, say or (lambda _: None)))
    on_request = [path for paths in family.others.values() for path in paths]
    return FetchedData(name, str(errand.folder), files, on_request, released.obtain(family))


async def _fetched(errand: _Errand, pause: float, say: Callable[[str], None]) -> list[FetchedFile]:
    """Bring files, some at once."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def bring(file: PublicFile) -> FetchedFile:
        async with places:
            result = await _brought(via, file, errand, pause)
        say(f"{result.state}: {result.reason or f'{file.path} ({count(file.size)} bytes)'}")
        return result

    async with session() as via:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(bring(file)) for file in errand.family.files]
        except* UnreachableError as errors:
            raise EndpointError(f"{errors.exceptions[0]}: {_ADVICE}") from errors
        except* MindgaugeError as errors:
            raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]


async def _brought(via: aiohttp.ClientSession, file: PublicFile, errand: _Errand, pause: float) -> FetchedFile:
    place = errand.folder / file.path
    if is_whole(file, place):
        return FetchedFile(file.path, "here", file.size)
    if place.exists():
        reason = f"{place} is not the released file; move it away, or choose another --out"
        return FetchedFile(file.path, "failed", file.size, reason)
    try:
        await download(via, file, errand.url(file), place, pause=pause)
    except UnreachableError:
        raise
    except (DataError, EndpointError) as error:
        return FetchedFile(file.path, "failed", file.size, str(error))
    except OSError as error:
        raise private.unwritten(place, error) or error from error
    return FetchedFile(file.path, "fetched", file.size)
