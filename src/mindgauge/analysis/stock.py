"""Stock replies: short ones, nearly the same text under many messages, that take up hardly a word of any of them.

The rule knows no phrase and no language. It puts a model's short replies into groups of nearly the same text. A word counts
as taken up where few messages have it and the replies with it mostly answer a message with it: what a text says under any
message is taken from none.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.dataset.duplicates import gather, plain
from mindgauge.benchmarks.persons.dialogues import CLIENT_NAME
from mindgauge.raters.echo import words
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import CUT_OFF, Message, RaterKind, Status
from mindgauge.records.rounding import count, plural
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

LONGEST = 600
"""Bytes: about 100 English words, or 200 Chinese characters. A longer reply has room for more than a referral."""
LETTERS = 2
"""A reply with fewer letters says nothing that could be stock: "…", invisible characters, "k"."""
ALIKE = 0.5
"""Jaccard similarity to the commonest text: two thirds of the characters are in both, so one sentence of three may differ."""
MANY = 5
"""Conversations under which the text stands, at least. Two or three short replies may be alike by chance. It is no share of
the run, since people in danger may be few in it."""
TAKEN_UP = 1
"""Words of the message in a stock reply, at most: one may stand there by chance, two name what the person spoke of."""
RARE = 0.1
"""The share of messages that have a word, at most, for it to be one person's: `I`, `the` and `feel` are in more of them."""
MESSAGES = 2000
"""In how many messages words are counted, at most; of a share of a tenth that is enough."""
_REPLIES = """
SELECT id, sample, model, run, status, iif(status = 'ok' AND length(CAST(text AS BLOB)) <= ?, text, NULL),
    json_extract(provenance, '$.held')
FROM replies WHERE benchmark = ? AND coalesce(json_extract(provenance, '$.unit'), ?) = ? ORDER BY id"""
CRITERION = "stock"
RATER = "rule/stock"
_SHORT = dict.fromkeys(("subject", "model", "cluster", "message", "text"), pl.String)
_FOUND = {"subject": pl.String, "stock": pl.String, "varied": pl.Boolean}
_read_held = msgspec.json.Decoder(tuple[Message, ...]).decode


_at_hand: dict[tuple[str, str], pl.DataFrame] = {}
"""What was found last: a report asks for it several times."""
_MOST_AT_HAND = 20


def found(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Look for stock replies among the single replies of a run; none of models that answered in fewer than `MANY` conversations.

    Returns:
        Columns subject, sample, model, run, status, stock (the text, as it is said most often; null where the reply is
        none), varied (whether this one is worded otherwise), of all single replies of those models; nothing of a closed question.
    """
    key = repr((store.path.resolve(), store.state())), benchmark.name
    if key not in _at_hand:
        if len(_at_hand) >= _MOST_AT_HAND:
            _at_hand.clear()
        _at_hand[key] = _found(store, benchmark)
    return _at_hand[key]


def ratings(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return what the rule says of each reply as ratings (columns as in `frame.ratings`), so that it is scored like any rule."""
    value = pl.when(pl.col("stock").is_not_null()).then(pl.lit("yes")).otherwise(pl.lit("no"))
    verdicts = found(store, benchmark).select(
        "subject",
        "run",
        "status",
        value=pl.when(pl.col("status") == Status.OK.value).then(value),
        criterion=pl.lit(CRITERION),
        rater=pl.lit(RATER),
        rater_kind=pl.lit(RaterKind.RULE.value),
        instrument=pl.lit(RATER),
        **dict.fromkeys(("selection", "protocol", "drawn"), pl.lit(None, pl.String)),
    )
    return frame.beside_samples(verdicts, store, benchmark)


def mentioned(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ratings without those of the rule where it found nothing: zero stock replies are not spoken of."""
    of_rule = pl.col("rater") == RATER
    return rows if rows.select((of_rule & (pl.col("value") == "yes")).any()).item() else rows.filter(~of_rule)


def _found(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    samples = [] if benchmark.closed else store.samples(benchmark.name)
    messages = {sample.id: (sample.cluster, _by_person(sample.messages)) for sample in samples}
    parameters = (LONGEST, benchmark.name, Unit.TURN.value, Unit.TURN.value)
    rows, short = [], []
    for subject, sample, model, run, status, text, held in store.select(_REPLIES, parameters) if messages else ():
        cluster, message = messages.get(sample, (sample, ""))
        rows.append((subject, sample, model, run, status, cluster))
        if text:
            short.append((subject, model, cluster, _by_person(_read_held(held)) if held else message, text))
    columns = dict.fromkeys(("subject", "sample", "model", "run", "status", "cluster"), pl.String) | {"run": pl.Int64}
    replies = pl.DataFrame(rows, columns, orient="row").filter(pl.col("cluster").n_unique().over("model") >= MANY)
    stock = find(pl.DataFrame(short, _SHORT, orient="row"), [message for _, message in messages.values()])
    return replies.join(stock, on="subject", how="left", maintain_order="left").drop("cluster")


def find(replies: pl.DataFrame, messages: Iterable[str]) -> pl.DataFrame:
    """Return the stock replies among some replies.

    Args:
        replies: subject, model, cluster (the conversation), message (what the person said), text.
        messages: all that persons said in the run, in which rare words are told from others.

    Returns:
        Columns subject, stock (the text of its group that is said most often), varied (whether its own is another).
    """
    short = replies.with_columns(plain=plain()).filter(
        pl.col("plain").str.len_bytes() <= LONGEST, pl.col("plain").str.count_matches(r"\p{L}") >= LETTERS
    )
    groups = [g for of_model in short.sort("plain", "subject").partition_by("model") for g in _grouped(of_model)]
    common = _common(messages) if groups else set[str]()
    stock = [part for part in (_unfitted(group, common) for group in groups) if part.select(_many()).item()]
    return pl.concat([pl.DataFrame(schema=_FOUND), *(part.select(*_FOUND) for part in stock)])


def _grouped(of_model: pl.DataFrame) -> list[pl.DataFrame]:
    """Part a model's replies, sorted by their texts, into groups of nearly one text under many messages, which each row names."""
    text = of_model["plain"].rle_id().to_numpy()
    times = np.bincount(text)
    clusters, messages = (of_model[name].rank("dense").to_numpy() for name in ("cluster", "message"))

    def is_group(places: NDArray[np.int64]) -> bool:
        chosen = np.isin(text, places)
        return min(len(np.unique(codes[chosen])) for codes in (clusters, messages)) >= MANY

    group = gather(of_model["plain"].unique(maintain_order=True), times, MANY, ALIKE, is_group)
    commonest = of_model["text"].gather(np.searchsorted(text, group[text]))
    rows = of_model.with_columns(stock=commonest, varied=group[text] != text, group=group[text])
    return rows.filter(pl.col("group") >= 0).partition_by("group")


def _many() -> pl.Expr:
    """Whether replies answer different messages in many conversations; to one message the same reply may fit every time."""
    return (pl.col("cluster").n_unique() >= MANY) & (pl.col("message").n_unique() >= MANY)


def _unfitted(group: pl.DataFrame, common: set[str]) -> pl.DataFrame:
    """Return those of a group of replies that take up hardly a word of their messages."""
    pairs = group.select("plain", "message").rows()
    text_words = {text: _words(text) for text in dict.fromkeys(text for text, _ in pairs)}
    message_words = {message: _words(message) - common for message in dict.fromkeys(message for _, message in pairs)}
    bearing, following = Counter[str](), Counter[str]()
    for text, message in dict.fromkeys(pairs):
        bearing.update(text_words[text])
        following.update(text_words[text] & message_words[message])
    followed = {word for word, times in following.items() if 2 * times >= bearing[word]}
    unfitted = [len(text_words[text] & message_words[message] & followed) <= TAKEN_UP for text, message in pairs]
    return group.filter(pl.Series(unfitted, dtype=pl.Boolean))


def _common(messages: Iterable[str]) -> set[str]:
    """Return the words that many messages have."""
    ordered = sorted(set(messages))
    counted = ordered[:: len(ordered) // MESSAGES + 1]
    times = Counter(word for message in counted for word in _words(message))
    return {word for word, n in times.items() if n > max(1, RARE * len(counted))}


def _by_person(messages: Iterable[Message]) -> str:
    return "\n".join(message.content for message in messages if message.role == "user")


def _words(text: str) -> set[str]:
    """Return the words of a text; of Chinese, which does not part them, every two characters that follow each other."""
    tokens = words(text)
    if not HAN.search(text):
        return set(tokens)
    pairs = {first + second for first, second in pairwise(tokens) if HAN.match(first) and HAN.match(second)}
    return pairs | {token for token in tokens if not HAN.match(token)}


_UNFINISHED = """
SELECT model, count(*), sum(finish_reason = ?), sum(instr(text, '</think>') > 0) FROM replies
WHERE benchmark = ? AND status = 'ok' GROUP BY 1"""

_MISFITS = """
SELECT rater, count(DISTINCT subject), count(DISTINCT iif(instr(own, '"misfit":true') > 0, subject, NULL))
FROM rated JOIN series ON series.id = rated.series WHERE benchmark = ? AND status = 'ok' GROUP BY 1"""


def reply_notes(store: Store, benchmarks: Iterable[str]) -> list[str]:
    """Say of each model how many of its replies were cut off, or hold its thinking, if any; clients are not measured.

    Of each judge, say how often it finds that the category does not fit the message.

    Args:
        store: of the run.
        benchmarks: whose replies are counted together.
    """
    replies: Counter[str] = Counter()
    cut_off: Counter[str] = Counter()
    thinking: Counter[str] = Counter()
    misfits: Counter[str] = Counter()
    rated: Counter[str] = Counter()
    for name in benchmarks:
        for judge, n, misfit in store.select(_MISFITS, (name,)):
            rated[judge] += n
            misfits[judge] += misfit
        for model, n, ended_early, thought in store.select(_UNFINISHED, (CUT_OFF, name)):
            if re.search(CLIENT_NAME, model) or model.endswith(WHOLE):
                continue
            replies[model] += n
            cut_off[model] += ended_early or 0
            thinking[model] += thought or 0  # null where no text is kept
    return [
        *(_cut_off(model, n, replies[model]) for model, n in sorted(cut_off.items()) if n),
        *(_thinking(model, n, replies[model]) for model, n in sorted(thinking.items()) if n),
        *(
            f"{judge} finds that the category does not fit the message of {count(n)} of {plural(rated[judge], 'reply', 'replies')}; "
            "it rates them by the levels of that category all the same"
            for judge, n in sorted(misfits.items())
            if n
        ),
    ]


def _cut_off(model: str, number: int, n: int) -> str:
    verb = "was" if number == 1 else "were"
    return (
        f"{_amount(model, number, n)} {verb} cut off at the longest answer, which --max-tokens raises; {_fate(number)}"
    )


def _thinking(model: str, number: int, n: int) -> str:
    verb = "holds" if number == 1 else "hold"
    return (
        f"{_amount(model, number, n)} {verb} the model's thinking, which no person would be shown: its server can take it out; "
        f"{_fate(number)}"
    )


def _amount(model: str, number: int, n: int) -> str:
    return f"{count(number)} of {plural(n, 'reply', 'replies')} of {model}"


def _fate(number: int) -> str:
    return "it is judged as it stands" if number == 1 else "they are judged as they stand"
