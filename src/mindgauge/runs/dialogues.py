"""Dialogues of several turns from a file: each of the assistant's turns to rate, all of them together, or both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import Reply, Sample, Status, digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import texts
from mindgauge.runs import plan
from mindgauge.runs.reply_files import protocol_of, rows, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Message
    from mindgauge.records.files.texts import Frame
    from mindgauge.runs.options import RunConfig

BOTH = "both"
ONE_SOURCE = "name what is to be rated with --replies or with --dialogues, one of them"


def one_source(benchmark: Benchmark, replies: object, dialogues: object, unit: str | None) -> None:
    """Check that it is clear what is to be rated.

    Raises:
        UsageError: both kinds of files are named, or neither, or dialogues where replies are classified.
    """
    if (replies is None) == (dialogues is None):
        raise UsageError(ONE_SOURCE)
    if dialogues is None and unit is not None:
        raise UsageError("--unit goes with --dialogues")
    if dialogues is not None and benchmark.closed:
        raise UsageError(
            f"--dialogues is for benchmarks whose replies are judged; {benchmark.name} classifies the last reply of a "
            "dialogue: use --replies"
        )


def units_of(name: str | None) -> tuple[Unit, ...]:
    """Read what is rated at once; every turn of the assistant if not given.

    Raises:
        UsageError: there is none of this name.
    """
    if name == BOTH:
        return tuple(Unit)
    if name is not None and name not in set(Unit):
        raise UsageError(f"--unit is {', '.join(Unit)} or {BOTH}, not {name!r}")
    return (Unit(name or Unit.TURN),)


def only_models_rate_whole(judges: plan.Raters, units: tuple[Unit, ...]) -> None:
    """Check that everybody named can rate what is rated at once.

    Raises:
        UsageError: a classifier or a rule is to rate whole dialogues.
    """
    others = plan.Raters([], judges.classifiers, judges.rules).names
    if Unit.DIALOGUE in units and others:
        raise UsageError(f"{others[0]} rates one reply, not a whole dialogue; use --unit turn")


def plan_of(benchmark: Benchmark, units: tuple[Unit, ...], config: RunConfig) -> dict[str, Any]:
    """Write down what decides how dialogues are rated, for the plan of a run."""
    named: dict[str, Any] = {"units": [unit.value for unit in units], "context": config.settings.context}
    if Unit.DIALOGUE in units:
        named["whole_with"] = [
            instrument.of_dialogues.name for instrument in plan.instruments(benchmark, config.judging)
        ]
    return named


class Dialogues(msgspec.Struct, frozen=True):
    """What is to be rated of a file's dialogues; `unanswered` of the person's last turns had no reply and are left out."""

    samples: list[Sample]
    replies: list[Reply]
    unanswered: int


def read(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    units: tuple[Unit, ...],
    limit: int | None = None,
) -> Dialogues:
    """Read dialogues with `messages`, and optionally `id`, `model`, `run`, `language`, `cluster` and `category`.

    Every turn of the assistant after the person's first is a reply to all before it. What comes of one dialogue is one
    cluster; dialogues of one `cluster`, or else of one `id` (the same case put to two models), are one, too.

    Args:
        source: as `tables.open_table` takes it.
        benchmark: whose rubric rates.
        columns: our name → the file's name of a column.
        units: what is rated at once.
        limit: at most this many dialogues.

    Raises:
        DataError: the file, a column or a cell is not as expected; the message names the line.
    """
    samples: dict[str, Sample] = {}
    replies: dict[str, Reply] = {}
    unanswered = 0
    for number, (row, place) in enumerate(rows(source, columns)):
        if limit is not None and number >= limit:
            break
        messages = _messages(row, place)
        unanswered += messages[-1].role != "assistant"
        for sample, reply in _rated(row, messages, benchmark, units, place):
            samples.setdefault(sample.id, sample)
            replies.setdefault(reply.id, reply)
    if not replies:
        raise DataError(f"{source if isinstance(source, str | Path) else 'table'}: no dialogues in it")
    return Dialogues(list(samples.values()), list(replies.values()), unanswered)


def _messages(row: dict[str, Any], place: str) -> tuple[Message, ...]:
    """Read a dialogue in which the assistant answers the person at least once."""
    if "messages" not in row:
        raise DataError(
            f"{place}: no column 'messages' with a dialogue's turns, found {', '.join(row) or 'nothing'}; "
            "name it with --map messages=COLUMN, or rate single replies with --replies"
        )
    messages = texts.dialogue(row, place)
    if not _answers(messages):
        raise DataError(f"{place}: in this dialogue the assistant never answers the person; there is nothing to rate")
    return messages


def _answers(messages: tuple[Message, ...]) -> list[int]:
    """Return where the assistant's turns after the person's first stand."""
    roles = [message.role for message in messages]
    first = roles.index("user") if "user" in roles else len(roles)
    return [place for place, role in enumerate(roles) if role == "assistant" and place > first]


def _rated(
    row: dict[str, Any], messages: tuple[Message, ...], benchmark: Benchmark, units: tuple[Unit, ...], place: str
) -> Iterator[tuple[Sample, Reply]]:
    """Return what is rated of one dialogue, with the dialogue before it."""
    path, line = place.rpartition(":")[::2]
    dialogue_id = digest("dialogue", messages)
    tags, named = words(row, "category", "language"), words(row, "id", "model", "cluster")
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = protocol_of(tags[benchmark.protocol], benchmark, place)
    cluster = named.get("cluster", named.get("id", dialogue_id))
    model = named.get("model", Path(path).stem)
    run = texts.whole(row["run"], place, "run") if "run" in row else 0
    source = {"source_file": Path(path).name, "source_row": int(line), "dialogue": dialogue_id}
    source |= {"source_id": named["id"]} if "id" in named else {}
    answers = _answers(messages)
    rated_turns = [(Unit.TURN, turn) for turn in answers] + [(Unit.DIALOGUE, answers[-1])]
    for unit, turn in rated_turns:
        if unit not in units:
            continue
        before, text = messages[:turn], messages[turn].content
        contents = [text] if unit is Unit.TURN else [messages[answer].content for answer in answers]
        sample = Sample(
            # Two dialogues that begin alike by chance are not one, so a turn's name has its dialogue's in it.
            digest("sample", unit, cluster, before),
            before,
            tags={**tags, "unit": unit.value, "turn": str(turn + 1)},
            cluster=cluster,
        )
        yield (
            sample,
            Reply.of(
                sample.id,
                model + WHOLE * (unit is Unit.DIALOGUE),
                run,
                Status.OK if any(words.strip() for words in contents) else Status.UNPARSABLE,
                text,
                provenance={**source, "unit": unit.value, "turn": turn + 1},
            ),
        )
