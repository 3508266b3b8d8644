"""What a person answers, as their ratings in the run, and the application that serves the reader to that person alone.

What they answered before stays in a rating's provenance.

Who sees models' names and verdicts, and chooses what to open, gives ratings of a selection (`IN_SIGHT`), which stand for
nothing but themselves. What was drawn by lot is answered blind; its first answer, given before any verdict was seen,
is the one that counts, and what is said later stands beside it.
"""

from __future__ import annotations

import gzip
import hmac
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from mindgauge.annotation.labels import LONGEST_NOTE, check
from mindgauge.annotation.records import Answer, Answered
from mindgauge.annotation.setup import instrument
from mindgauge.annotation.web.guard import Guard, is_ours, own_host
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.drawn import DRAWN, IN_SIGHT
from mindgauge.records.english import words
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rubric import in_language
from mindgauge.reports.export.decisions import SOURCE
from mindgauge.reports.view.content import BLIND
from mindgauge.store import Store, reading
from mindgauge.store.locks import LockedRunError
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Rubric
    from mindgauge.reports.view.content import ServedReader, ViewLine

    Form = TypeVar("Form")

_JUDGES = {RaterKind.MODEL, RaterKind.CLASSIFIER, RaterKind.PANEL}
WAIT = 10.0
"""Seconds for which an answer waits for whoever is writing the run."""
_PAUSE = 0.25
_LONGEST_STAY = 24 * 3600.0
_NAMED = """
SELECT DISTINCT rater, rater_kind, coalesce(json_extract(provenance, '$.source'), '') FROM ratings
UNION SELECT DISTINCT model, 'model', '' FROM replies"""
LONGEST_NAME = 80


class GivenLevel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer on one criterion: a level as text, or why there is none."""

    answered: Answered
    value: str | None = None


class AnswerForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a form hands in. `agreed`: by one press, to the verdict that stood there."""

    line: str
    given: dict[str, GivenLevel]
    note: str = ""
    agreed: bool = False
    seconds: float = 0.0


def free_name(store: Store, name: str) -> str:
    """Return the name under which a person answers, if no other rater of the run has it.

    Raises:
        UsageError: another has it, or it is none.
    """
    called = " ".join(name.split())
    if not called or len(called) > LONGEST_NAME or not called.isprintable():
        raise UsageError(f"--as {name!r}: a name has 1 to {LONGEST_NAME} characters that can be printed")
    for rater, kind, source in store.select(_NAMED):
        if rater.casefold() == called.casefold() and (source != SOURCE or rater != called):
            who = "another person" if kind == RaterKind.PERSON else f"a {kind}"
            raise UsageError(
                f"--as {called}: {who} has the name {rater!r} in this run; answers never take another rater's place, so choose another name"
            )
    return called


class AnswerBook:
    """One person's answers in a run."""

    def __init__(
        self, folder: Path, who: str, benchmarks: Mapping[str, Benchmark], served: ServedReader, store: Store
    ) -> None:
        """Read what they answered before.

        Args:
            folder: of the run.
            who: answers.
            benchmarks: by name.
            served: what is served.
            store: of the run, open for reading now.
        """
        self.folder, self.who, self.served = folder, who, served
        self._benchmarks = benchmarks
        self._one = threading.Lock()
        wanted = {line.sample for line in served.lines.values()}
        self._tags = {
            (name, sample.id): sample.tags
            for name in benchmarks
            for sample in store.samples(name)
            if sample.id in wanted
        }
        self._own: dict[tuple[str, str], dict[str, Rating]] = {}
        for name in benchmarks:
            for rating in store.ratings(name):
                if rating.rater == who:
                    self._own.setdefault((name, rating.subject), {})[rating.criterion] = rating
        self._keys: dict[tuple[str, str], list[str]] = {}
        for key, line in served.lines.items():
            self._keys.setdefault((line.benchmark, line.subject), []).append(key)
        self._seconds: dict[tuple[str, str], float] = {}
        self._seen: set[tuple[str, str]] = set()
        for entry in reading.entries(folder):
            if entry.who == who:
                about = (entry.benchmark, entry.subject)
                self._seconds[about] = self._seconds.get(about, 0.0) + entry.seconds
                self._seen |= set() if entry.blind else {about}

    def answered(self) -> list[str]:
        """Return the keys of the lines that they answered."""
        return [key for about in list(self._own) for key in self._keys.get(about, ())]

    def read(self) -> list[str]:
        """Return the keys of the lines that they read."""
        return [
            key
            for about, seconds in list(self._seconds.items())
            if seconds >= reading.ENOUGH
            for key in self._keys.get(about, ())
        ]

    def keys(self, key: str) -> list[str]:
        """Return the lines that are about the same: of a closed question every model's answer to one message."""
        line = self.served.lines[key]
        return self._keys[line.benchmark, line.subject]

    def line(self, key: str) -> dict[str, Any]:
        """Return what is asked about a line, criterion by criterion, and what they answered; `fault` says why nothing can be.

        Raises:
            KeyError: there is none.
        """
        line = self.served.lines[key]
        rubric = self._rubric(line)
        language = self._tags.get((line.benchmark, line.sample), {}).get("language", "en")
        criteria = [
            {"name": c.name, "question": in_language(c.text, language), "levels": [str(value) for value in c.values], "not_applicable": bool(c.not_applicable)}
            for c in rubric.criteria
        ]  # fmt: skip
        answer = self._kept(line)
        revealed = self.served.revealed.get(key) if answer is not None else None
        return {"criteria": criteria, "fault": self._fault(line, rubric), "answer": answer, "revealed": revealed}

    def _rubric(self, line: ViewLine) -> Rubric:
        return self._benchmarks[line.benchmark].rubric.on(self._tags.get((line.benchmark, line.sample), {}))

    def _fault(self, line: ViewLine, rubric: Rubric) -> str:
        if line.hidden:
            return "Its texts may not be shown here, so nobody can rate it; --show-texts shows them where you may read them."
        return "" if rubric.criteria else "No criterion of the rubric is about it."

    def _kept(self, line: ViewLine) -> dict[str, Any] | None:
        """Return what they answered; `later`: what they said after they had seen the verdicts, if they did."""
        own = self._own.get((line.benchmark, line.subject))
        if not own:
            return None
        given = {name: _given(rating) for name, rating in own.items()}
        revised = {
            name: msgspec.convert(rating.provenance["revised"][-1]["given"], GivenLevel)
            for name, rating in own.items()
            if rating.provenance.get("revised")
        }
        rating = max(own.values(), key=lambda r: str(r.provenance.get("at", "")))
        return {
            "given": given, "note": rating.rationale, "at": str(rating.provenance.get("at", "")), "later": revised or None
        }  # fmt: skip

    def save(self, form: AnswerForm) -> None:
        """Keep an answer.

        Raises:
            KeyError: there is no such line.
            MindgaugeError: it is no answer, another rater's rating stands in its place, or the run is being written.
        """
        line = self.served.lines[form.line]
        rubric, note = self._rubric(line), bounds.clean(form.note).strip()
        if fault := self._fault(line, rubric):
            raise UsageError(fault)
        if len(note) > LONGEST_NOTE:
            raise UsageError(f"the note has {len(note):,} characters; at most {LONGEST_NOTE:,} are kept")
        answers = _answers(rubric, form.given)
        if not answers:
            raise UsageError("choose a level on at least one criterion")
        blind = self.served.how == BLIND
        check(rubric if blind else rubric.restricted([answer.criterion for answer in answers]), answers)
        with self._one, self._writing() as store:
            beside = store.ratings_of(line.benchmark, [line.subject])[line.subject]
            own = {rating.criterion: rating for rating in beside if rating.rater == self.who}
            if any(rating.provenance.get("source") != SOURCE for rating in own.values()):
                raise UsageError(
                    f"another rater called {self.who} has rated this in the run by now; start `mindgauge view` with another --as"
                )
            for answer in answers:
                judged = {
                    r.rater: r.value
                    for r in beside
                    if r.rater_kind in _JUDGES and r.criterion == answer.criterion and r.status is Status.OK
                }
                rating = self._rating(line, answer, note, form, own.get(answer.criterion), judged)
                store.add_rating(line.benchmark, rating)
                own[rating.criterion] = rating
            store.flush()
            self._own[line.benchmark, line.subject] = own

    def _rating(
        self, line: ViewLine, answer: Answer, note: str, form: AnswerForm, before: Rating | None,
        judged: dict[str, Any],
    ) -> Rating:  # fmt: skip
        given = GivenLevel(answer.answered, None if answer.value is None else str(answer.value))
        moment = {"given": msgspec.to_builtins(given), "note": note, "at": now()}
        if before is not None and DRAWN in before.provenance:
            if (_given(before), before.rationale) == (given, note):
                return before
            revised = [*before.provenance.get("revised", []), moment]
            return msgspec.structs.replace(before, provenance={**before.provenance, "revised": revised})
        about = (line.benchmark, line.subject)
        drawn = self.served.drawn.get(line.subject)
        provenance: dict[str, Any] = {
            "source": SOURCE, "software": software(), "at": moment["at"], "seconds": round(min(max(form.seconds, 0.0), _LONGEST_STAY), 1),
            **(drawn.provenance if drawn else {"selection": IN_SIGHT}),
        }  # fmt: skip
        if drawn is not None:
            provenance["blind"] = about not in self._seen
        elif judged:
            same = sum(value == answer.value for value in judged.values())
            provenance |= {
                "verdicts": judged,
                "beside": "agree" if same == len(judged) else "split" if same else "disagree",
            }
            provenance |= {"agreed": True} if form.agreed else {}
        if answer.answered is not Answered.OK:
            provenance["said"] = str(answer.answered)
        if before is not None:
            moments = before.provenance.get("earlier", [])
            provenance["earlier"] = [*moments, _moment(before)]
        return Rating(
            line.subject, answer.criterion, self.who, RaterKind.PERSON, 0, answer.answered.status, answer.value, note,
            instrument=instrument(self._benchmarks[line.benchmark].rubric), provenance=provenance,
        )  # fmt: skip

    def withdraw(self, key: str) -> None:
        """Take an answer back. That it stood there is kept: of a draw as a rating without a value, which is missing, else beside the run.

        Raises:
            KeyError: there is no such line.
            MindgaugeError: there is no answer, or the run is being written.
        """
        line = self.served.lines[key]
        with self._one, self._writing() as store:
            beside = store.ratings_of(line.benchmark, [line.subject])[line.subject]
            own = [r for r in beside if r.rater == self.who and r.provenance.get("source") == SOURCE]
            if not own:
                raise UsageError("there is no answer of yours to delete")
            drawn = [rating for rating in own if DRAWN in rating.provenance]
            others = [rating for rating in own if DRAWN not in rating.provenance]
            if others:
                self._note(
                    line,
                    withdrawn={
                        rating.criterion: {**_moment(rating), "earlier": rating.provenance.get("earlier", [])}
                        for rating in others
                    },
                )
            remaining = {rating.criterion: _withdrawn(rating) for rating in drawn}
            for rating in remaining.values():
                store.add_rating(line.benchmark, rating)
            store.flush()
            for rating in others:
                store.forget_rating(line.benchmark, rating)
            if remaining:
                self._own[line.benchmark, line.subject] = remaining
            else:
                self._own.pop((line.benchmark, line.subject), None)

    def looked(self, key: str, seconds: float) -> bool:
        """Keep how long a line was open, and say whether it counts as read by now.

        Raises:
            KeyError: there is no such line.
            OSError: it cannot be written.
        """
        line = self.served.lines[key]
        stay = round(min(max(seconds, 0.0), _LONGEST_STAY), 1)
        about = (line.benchmark, line.subject)
        with self._one:
            self._note(line, seconds=stay)
            self._seconds[about] = self._seconds.get(about, 0.0) + stay
            if self.served.how != BLIND or about in self._own:
                self._seen.add(about)
        return self._seconds[about] >= reading.ENOUGH

    def _note(self, line: ViewLine, **facts: Any) -> None:
        blind = self.served.how == BLIND and (line.benchmark, line.subject) not in self._own
        reading.note(
            self.folder, reading.OpenedReply(line.benchmark, line.subject, self.who, now(), blind=blind, **facts)
        )

    def _writing(self) -> Store:
        """Open the run for one answer; whoever is writing it is waited for, and let in again at once.

        Raises:
            MindgaugeError: it takes too long.
        """
        end = time.monotonic() + WAIT
        while True:
            try:
                return Store(self.folder, write=True)
            except LockedRunError as error:
                if time.monotonic() >= end:
                    reason = str(error).partition(";")[0]
                    raise LockedRunError(
                        f"{reason}; your answer is not saved and stays in this form: press Save again when that is done"
                    ) from error
                time.sleep(_PAUSE)


def _answers(rubric: Rubric, given: Mapping[str, GivenLevel]) -> list[Answer]:
    """Read a form's answers; a level stands there as text."""
    levels = {c.name: {str(value): value for value in c.values} for c in rubric.criteria}
    stray = next((name for name in given if name not in levels), None)
    if stray is not None:
        raise UsageError(f"{words(stray)} is not asked here")
    return [
        Answer(name, level.answered, levels[name].get(level.value, level.value) if level.value is not None else None)
        for name, level in given.items()
    ]


def _given(rating: Rating) -> GivenLevel:
    if rating.status is Status.OK:
        return GivenLevel(Answered.OK, str(rating.value))
    said = str(rating.provenance.get("said", ""))
    return GivenLevel(Answered(said) if said in {member.value for member in Answered} else Answered.CANNOT_TELL)


def _moment(rating: Rating) -> dict[str, Any]:
    """Return what a rating said, to be kept beside what takes its place."""
    return {
        "given": msgspec.to_builtins(_given(rating)),
        "note": rating.rationale,
        "at": rating.provenance.get("at", ""),
    }


def _withdrawn(rating: Rating) -> Rating:
    provenance = {
        **rating.provenance, "said": str(Answered.WITHDRAWN), "at": now(), "earlier": [*rating.provenance.get("earlier", []), _moment(rating)],
    }  # fmt: skip
    return msgspec.structs.replace(
        rating, status=Answered.WITHDRAWN.status, value=None, rationale="", provenance=provenance
    )


_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}
_SENTENCES = {
    400: "This cannot be read, so nothing was changed.",
    401: "Open the link that `mindgauge view` printed in the terminal: this browser has no key to the reader.",
    403: "This did not come from the reader's own page, so nothing was changed.",
    404: "There is nothing here.",
    405: "There is nothing here.",
    413: "That is more than an answer may be.",
    422: "That is no answer that can be read.",
    500: "Something went wrong in Mindgauge; the terminal says where. Nothing was changed.",
}


class ViewAccess:
    """The keys of one process. Path and cookie's name are among them: another port of the host neither gets nor sets it."""

    def __init__(self, book: AnswerBook, port: int) -> None:
        self.book = book
        self.token, self.session, self.csrf = (secrets.token_urlsafe(32) for _ in range(3))
        self.secret, self.path = secrets.token_bytes(32), f"/{secrets.token_hex(16)}"
        self.cookie = f"mindgauge-{secrets.token_hex(8)}"
        self.port = port

    @property
    def link(self) -> str:
        """The address that lets a browser in."""
        return f"http://{own_host(self.secret, '')}:{self.port}{self.path}/open/{self.token}"


class _LineOnly(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    line: str


class _Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    line: str
    seconds: float


def create_app(access: ViewAccess) -> Starlette:
    """Make the application; it answers under the host and the path of the link alone."""
    routes = [
        Route("/open/{token}", _enter),
        Route("/state", _state),
        Route("/lines/{key}", _line),
        Route("/answers", _answer, methods=["POST"]),
        Route("/withdrawn", _withdraw, methods=["POST"]),
        Route("/read", _look, methods=["POST"]),
        Route("/{name:path}", _file),
    ]
    app = Starlette(
        routes=[Mount(access.path, routes=routes)],
        middleware=[Middleware(Guard, secret=access.secret, port=access.port, refuse=_refused)],
        exception_handlers={HTTPException: _refused},
    )
    app.state.access = access
    return app


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = error.detail if error.status_code == 409 else _SENTENCES.get(error.status_code, _SENTENCES[400])
    if request.url.path.endswith("/") or "/open/" in request.url.path:
        return PlainTextResponse(f"{sentence}\n", error.status_code)
    return _json({"error": sentence}, error.status_code)


def _json(content: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _enter(request: Request) -> Response:
    access: ViewAccess = request.app.state.access
    if not _same(request.path_params["token"], access.token):
        raise HTTPException(401)
    response = RedirectResponse(f"{access.path}/", 303)
    response.set_cookie(access.cookie, access.session, path=f"{access.path}/", httponly=True, samesite="lax")
    return response


def _inside(request: Request) -> ViewAccess:
    """Return the keys to who came by the link."""
    access: ViewAccess = request.app.state.access
    if not _same(request.cookies.get(access.cookie, ""), access.session):
        raise HTTPException(401)
    return access


def _file(request: Request) -> Response:
    access = _inside(request)
    name = request.path_params["name"] or "index.html"
    content = access.book.served.files.get(name)
    if content is None:
        raise HTTPException(404)
    kind = _TYPES[name[name.rindex(".") :]]
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(content), media_type=kind)
    return Response(content, media_type=kind, headers={"Content-Encoding": "gzip"})


def _state(request: Request) -> Response:
    access = _inside(request)
    book = access.book
    return _json({
        "csrf": access.csrf, "who": book.who, "lines": len(book.served.lines), "longest": LONGEST_NOTE,
        "answered": book.answered(), "read": book.read(),
    })  # fmt: skip


def _line(request: Request) -> Response:
    access = _inside(request)
    try:
        return _json(access.book.line(request.path_params["key"]))
    except KeyError as error:
        raise HTTPException(404) from error


async def _posted(request: Request, kind: type[Form]) -> tuple[AnswerBook, Form]:
    """Read what our own page sends."""
    access = _inside(request)
    if not is_ours(request) or not _same(request.headers.get("x-csrf", ""), access.csrf):
        raise HTTPException(403)
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(422)
    try:
        return access.book, msgspec.json.decode(await request.body(), type=kind)
    except (ValueError, RecursionError) as error:
        raise HTTPException(422) from error


async def _changed(change: Callable[[], None], book: AnswerBook, key: str) -> Response:
    """Make a change, and answer with the line as it is then, and all lines that are about the same."""
    try:
        await run_in_threadpool(change)
        return _json({"line": book.line(key), "lines": book.keys(key)})
    except KeyError as error:
        raise HTTPException(404) from error
    except LockedRunError as error:
        return _json({"error": str(error)}, 503)
    except MindgaugeError as error:
        raise HTTPException(409, str(error)) from error


async def _answer(request: Request) -> Response:
    book, form = await _posted(request, AnswerForm)
    return await _changed(lambda: book.save(form), book, form.line)


async def _withdraw(request: Request) -> Response:
    book, form = await _posted(request, _LineOnly)
    return await _changed(lambda: book.withdraw(form.line), book, form.line)


async def _look(request: Request) -> Response:
    book, form = await _posted(request, _Look)
    try:
        read = await run_in_threadpool(book.looked, form.line, form.seconds)
        return _json({"read": read, "lines": book.keys(form.line)})
    except KeyError as error:
        raise HTTPException(404) from error
    except (MindgaugeError, OSError) as error:
        raise HTTPException(409, f"what was read cannot be kept ({error})") from error
