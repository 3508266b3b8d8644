"""What values of dialogues vary with: models, personas, the clients that play them, repeats, judges; and whether models can be ranked.

A G-study by crossed random effects of one criterion's or metric's values of dialogues (`stats.crossed`, complete designs or
not). A client that is hard on all models alike, and one that is harder on some, both decide what a score says of a model:

    clients explain  σ²(client) + σ²(model × client)
    models explain   σ²(model)

Where clients explain at least as much, the models cannot be told apart with these clients, and none is ranked. Nor is any
with one client, of which nobody knows what another would do. Two or three clients are few to estimate a variance from, and
by luck the estimates may say otherwise; so models are ranked only where draws of the components say the same in four of
five. docs/coverage.md has how often that goes wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import Bound
from mindgauge.benchmarks.metrics.conversations import APPROPRIATE
from mindgauge.raters.window import Unit
from mindgauge.records import Status
from mindgauge.records.english import named
from mindgauge.records.rounding import percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

MODEL, CLIENT, PERSONA, JUDGE, REPEAT = "model", "client", "persona", "judge", "repeat"
DIALOGUE = "dialogue"
MODEL_CLIENT = f"{MODEL} × {CLIENT}"
NOT_APART = "these models cannot be told apart with these clients"
_FACTORS = (
    (MODEL,), (CLIENT,), (PERSONA,), (JUDGE,), (MODEL, CLIENT), (MODEL, PERSONA), (CLIENT, PERSONA), (MODEL, JUDGE),
    (MODEL, CLIENT, PERSONA, REPEAT),
)  # fmt: skip
"""What is kept first where not all can be told apart; the last is a dialogue, told from error where several judges rate it.
What else judges interact with is left in the error, which makes no model look more different than it is."""
_TAIL = 0.025
MOST_DOUBT = 0.2
"""The most draws in which clients may explain at least as much, for models to be ranked."""


class DialogueComponents(msgspec.Struct, frozen=True):
    """Variance components of n values by factor, `residual` among them; `note` says why there are none.

    `in_error` names factors of more than one level that cannot be told from the others or from error.
    """

    n: int
    missing: int
    components: dict[str, Bound] = {}
    in_error: list[str] = []
    note: str = ""


class ClientStudy(msgspec.Struct, frozen=True):
    """What models and clients explain, over all models and of each; whether models may be ranked, and if not, why."""

    models: int
    clients: int
    personas: int
    judges: int
    together: DialogueComponents
    by_model: dict[str, DialogueComponents]
    """Of each model alone: client × persona × repeat × judge."""
    models_explain: Bound
    clients_explain: Bound
    chance: float | None
    """The share of draws of the components in which clients explain at least as much as models, of which `MOST_DOUBT` is the
    most for a rank."""
    ranked: bool
    reason: str
    """In a sentence, whichever it is."""


def study(rows: pl.DataFrame, seed: int = 0) -> ClientStudy:
    """Study what values of dialogues vary with.

    Args:
        rows: one for each dialogue and judge: model, client, persona, repeat, judge, and number, null where it is missing.
            A client is the same for all models; a missing value is counted, and in no estimate.
        seed: of the draws.
    """
    models, clients, personas, judges = (rows[name].n_unique() for name in (MODEL, CLIENT, PERSONA, JUDGE))
    together, draws = _components(rows, seed)
    by_model = {
        str(model): _components(part, seed)[0]
        for (model,), part in sorted(rows.group_by(MODEL), key=lambda group: group[0])
    }
    unknown = Bound(None)
    ranked, chance, of_models, of_clients = False, None, unknown, unknown
    reason = _lack(models, clients, together)
    if not reason:
        estimates = {name: np.array([bound.value]) for name, bound in together.components.items()}
        of_models, of_clients = (
            Bound(float(parts(estimates)[0]), *_range(parts(draws))) for parts in (_of_models, _of_clients)
        )
        chance = float((_of_clients(draws) >= _of_models(draws)).mean())
        less = (of_clients.value or 0.0) < (of_models.value or 0.0)
        ranked = less and chance <= MOST_DOUBT
        total = float(sum(value[0] for value in estimates.values()))
        shares = [percent((bound.value or 0.0) / total) for bound in (of_clients, of_models)]
        explained = f"of what dialogues vary with, {plural(clients, 'client')} explain {shares[0]} and {plural(models, 'model')} {shares[1]}"
        verdict = explained if ranked else f"{NOT_APART}: {explained}"
        if less and not ranked:
            verdict += f", but with so few it is the other way round in {percent(chance)} of draws"
        reason = f"{verdict[0].upper()}{verdict[1:]}."
    return ClientStudy(
        models, clients, personas, judges, together, by_model, of_models, of_clients, chance, ranked, reason
    )


def _lack(models: int, clients: int, together: DialogueComponents) -> str:
    """Say why nothing can be ranked, in a sentence; empty where components say it."""
    if models < 2:
        return "There is one model, and nothing to rank."
    start = NOT_APART[0].upper() + NOT_APART[1:]
    if clients < 2:
        return f"{start}: there is one client, and nobody knows what another would change."
    if together.note:
        return f"{start}: {together.note}."
    unknown = [name for name in (MODEL, CLIENT) if name not in together.components]
    return (
        f"{start}: {named([f'{name}s' for name in unknown])} cannot be told from what else varies." if unknown else ""
    )


def _of_models(parts: dict[str, Floats]) -> Floats:
    return parts[MODEL]


def _of_clients(parts: dict[str, Floats]) -> Floats:
    return np.asarray(parts[CLIENT] + parts.get(MODEL_CLIENT, 0.0))


def _components(rows: pl.DataFrame, seed: int) -> tuple[DialogueComponents, dict[str, Floats]]:
    """Estimate the components of some values, with draws of each."""
    from mindgauge.stats import crossed, dstudy  # models of variance, which few runs need
    from mindgauge.stats.rater_sample import component_draws

    valued = rows.drop_nulls("number")
    n, missing = len(valued), len(rows) - len(valued)
    codes = {name: factor for name, factor in _factors(valued).items() if 1 < len(np.unique(factor)) < n}
    if n < 2 or not codes:
        return DialogueComponents(n, missing, note="there are too few values to say what they vary with"), {}
    kept = dstudy.told_apart(codes)
    in_error = [name for name in codes if name not in kept]
    try:
        design = crossed.Design(valued["number"].to_numpy().astype(np.float64), {name: codes[name] for name in kept})
        fit = crossed.fit(design)
    except ValueError as error:
        return DialogueComponents(n, missing, in_error=in_error, note=str(error)), {}
    draws = component_draws(design, fit, seed=seed)
    bounds = {name: Bound(value, *_range(draws[name])) for name, value in fit.variances.items()}
    return DialogueComponents(n, missing, bounds, in_error), draws


def _factors(rows: pl.DataFrame) -> dict[str, Codes]:
    """Return the levels of each factor, shape (n,), by name."""
    factors = {}
    for columns in _FACTORS:
        name = DIALOGUE if REPEAT in columns else " × ".join(columns)
        factors[name] = rows.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.intp) - 1
    return factors


def _range(draws: Floats) -> tuple[float, float]:
    low, high = np.quantile(draws, [_TAIL, 1 - _TAIL])
    return float(low), float(high)


def of(
    rows: pl.DataFrame, benchmark: Benchmark, labels: Mapping[tuple[int, str], str] | None = None
) -> ClientStudy | None:
    """Study what the mean appropriateness of a dialogue's turns varies with; None where no client plays.

    Args:
        rows: ratings, as `frame.ratings` returns them, of one run or of several with `run_number`.
        benchmark: whose ratings they are.
        labels: of several runs, what each system is called: run number and model → name.
    """
    if benchmark.situation is None or "tag.client" not in rows.columns:
        return None
    turns = rows.filter(
        pl.col("unit") == Unit.TURN.value,
        pl.col("criterion") == APPROPRIATE,
        pl.col("rater_kind").is_in([RaterKind.MODEL.value, RaterKind.PERSON.value]),
        pl.col("status") != Status.NOT_APPLICABLE.value,
        pl.col("tag.client").fill_null("") != "",
    )
    if turns.is_empty():
        return None
    if labels is not None:
        names = [labels.get(key, key[1]) for key in turns.select("run_number", "model").iter_rows()]
        turns = turns.with_columns(model=pl.Series(names, dtype=pl.String))
    number = pl.col("value").cast(pl.Float64, strict=False)
    by_dialogue = turns.group_by("model", "tag.dialogue", "rater", "run", maintain_order=True).agg(
        pl.col("tag.client", "cluster", "reply_run").first(),
        number=pl.when(number.null_count() == 0).then(number.mean()),
    )
    return study(
        by_dialogue.select(
            "model",
            "number",
            client="tag.client",
            persona="cluster",
            judge="rater",
            repeat=pl.col("reply_run").cast(pl.String),
        )
    )


def notes(rows: pl.DataFrame, benchmark: Benchmark) -> list[str]:
    """Say whether the models of a run can be ranked, where clients talked to several; nothing where there is nothing to rank."""
    result = of(rows, benchmark)
    return [] if result is None or result.models < 2 else [f"{benchmark.name}: {result.reason}"]
