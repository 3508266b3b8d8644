"""`annotate serve`: the page of an annotation project, until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from mindgauge.annotation.people import link
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Person, Role
from mindgauge.annotation.web.guard import is_here, own_address
from mindgauge.commands.command import CommandOption, command
from mindgauge.models.address import loopback

if TYPE_CHECKING:
    from collections.abc import Callable


class Served(msgspec.Struct, frozen=True):
    """Where the page runs, and what must be known of it."""

    url: str
    """Under which this machine reaches it: the owner, or whom `invite` names."""
    link: str
    """The new link of whom `invite` names; else empty."""
    notes: list[str]


@command()
def annotate_serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Meta(ge=0, le=65535)] = 8765,
    invite: Annotated[str | None, CommandOption(metavar="NAME")] = None,
    ready: Callable[[Served], None] = lambda _: None,
) -> None:
    """Serve the page on which people label, until Ctrl-C.

    Args:
        folder: The project's folder.
        host: The address to listen on. Anything but 127.0.0.1 lets others in the network try to come in.
        port: Where to listen; 0 takes any port that is free.
        invite: Print a new link for this person, who has lost theirs.
        ready: called once with where it runs.

    Raises:
        UsageError: there is no project, nobody of that name, or the address cannot be had.
        DatabaseError: its database cannot be read.
    """
    from mindgauge.analysis.reliability.plan import needed
    from mindgauge.annotation.page.serve import create_app
    from mindgauge.annotation.web import serving

    with Annotation.open(Path(folder)) as annotation:
        person = None if invite is None else annotation.named(invite)
        taken = serving.listen(host, port)
        port = taken.getsockname()[1]
        served = _served(annotation, host, port, person)
        app = create_app(annotation, host, port, needed=needed(annotation.rubric()))
        behind_tls = annotation.project.url.startswith("https:")  # we speak no TLS, so that a proxy does
        serving.serve(app, taken, lambda: ready(served), proxied=behind_tls)


def _served(annotation: Annotation, host: str, port: int, invited: Person | None) -> Served:
    person = invited or next(person for person in annotation.people() if person.role is Role.OWNER)
    url = own_address(annotation.secret, person.id, f"http://{f'[{host}]' if ':' in host else host}:{port}")
    public = annotation.project.url
    lasting = url if is_here(urlsplit(public).hostname or "") else public
    notes = []
    if not loopback(host):
        notes = [
            f"--host {host}: whoever reaches this machine over the network can open the page and try links.",
            "Without TLS in front, links and cookies can be read on the way, and used in another's name.",
            "Put Caddy or nginx in front and leave --host out (docs/tasks/annotate.md, “TLS in front”).",
        ]
    elif lasting == public and not public.startswith("https:"):
        notes = [f"links go to {public}, without TLS; docs/tasks/annotate.md says how to put it in front."]
    elif lasting == url and urlsplit(public).port not in {None, port}:
        notes = [f"the links that were given out go to port {urlsplit(public).port}; this is port {port}."]
    new = link(annotation, person.id, lasting) if invited else ""
    return Served(url, new, [note for note in (annotation.elsewhere, *notes) if note])
