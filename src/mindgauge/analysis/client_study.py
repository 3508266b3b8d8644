"""What values of dialogues vary with: models, personas, the clients that play them, repeats, judges; and whether models can be ranked.

A G-study by crossed random effects of the mean appropriateness of a dialogue's turns (`stats.crossed`, complete designs or
not). A client that is hard on all models alike, and one that is harder on some, both decide what a score says of a model:

    clients explain  σ²(client) + σ²(model × client)
    models explain   σ²(model)

Where clients explain at least as much, the models cannot be told apart with these clients, and none is ranked. Nor is any
with one client, of which nobody knows what another would do. Two or three clients are few to estimate a variance from, and
by luck the estimates may say otherwise; so models are ranked only where draws of the components say the same in four of
five. bench/results/coverage.md has how often that goes wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.benchmarks.metrics.conversations import APPROPRIATE
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status
from mindgauge.records.english import named
from mindgauge.records.rounding import percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark

    Floats = NDArray[np.float64]

MODEL, CLIENT, PERSONA, JUDGE, REPEAT = "model", "client", "persona", "judge", "repeat"
MODEL_CLIENT = f"{MODEL} × {CLIENT}"
NOT_APART = "these models cannot be told apart with these clients"
_FACTORS = (
    (MODEL,), (CLIENT,), (PERSONA,), (JUDGE,), (MODEL, CLIENT), (MODEL, PERSONA), (CLIENT, PERSONA), (MODEL, JUDGE),
    (MODEL, CLIENT, PERSONA, REPEAT),
)  # fmt: skip
"""What is kept first where not all can be told apart; the last is a dialogue, told from error where several judges rate it.
What else judges interact with is left in the error, which makes no model look more different than it is."""
MOST_DOUBT = 0.2
"""The most draws in which clients may explain at least as much, for models to be ranked."""


class ClientStudy(msgspec.Struct, frozen=True):
    """What models and clients explain, and whether models may be ranked; if not, `reason` says why."""

    models: int
    clients: int
    n: int
    missing: int
    components: dict[str, float]
    """Variance components by factor, `residual` among them; none where they cannot be estimated."""
    chance: float | None
    """The share of draws of the components in which clients explain at least as much as models, of which `MOST_DOUBT` is the
    most for a rank."""
    ranked: bool
    reason: str
    """In a sentence, whichever it is."""


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
        pl.col("reply_run").first().cast(pl.String).alias(REPEAT),
        pl.col("tag.client").first().alias(CLIENT),
        pl.col("cluster").first().alias(PERSONA),
        number=pl.when(number.null_count() == 0).then(number.mean()),
    )
    return study(by_dialogue.rename({"rater": JUDGE}))


def notes(rows: pl.DataFrame, benchmark: Benchmark) -> list[str]:
    """Say whether the models of a run can be ranked, where clients talked to several; nothing where there is nothing to rank."""
    result = of(rows, benchmark)
    return [] if result is None or result.models < 2 else [f"{benchmark.name}: {result.reason}"]


def study(rows: pl.DataFrame, seed: int = 0) -> ClientStudy:
    """Study what values of dialogues vary with.

    Args:
        rows: one for each dialogue and judge: model, client, persona, repeat, judge, and number, null where it is missing.
            A client is the same for all models; a missing value is counted, and in no estimate.
        seed: of the draws.
    """
    models, clients = rows[MODEL].n_unique(), rows[CLIENT].n_unique()
    values = rows.drop_nulls("number")
    components, draws, note = _components(values, seed)
    start = NOT_APART[0].upper() + NOT_APART[1:]
    unknown = [f"{name}s" for name in (MODEL, CLIENT) if name not in components]
    chance, ranked = None, False
    if models < 2:
        reason = "There is one model, and nothing to rank."
    elif clients < 2:
        reason = f"{start}: there is one client, and nobody knows what another would change."
    elif note:
        reason = f"{start}: {note}."
    elif unknown:
        reason = f"{start}: {named(unknown)} cannot be told from what else varies."
    else:
        of_models, of_clients = components[MODEL], components[CLIENT] + components.get(MODEL_CLIENT, 0.0)
        chance = float((draws[CLIENT] + draws.get(MODEL_CLIENT, 0.0) >= draws[MODEL]).mean())
        ranked = of_clients < of_models and chance <= MOST_DOUBT
        shares = [percent(part / sum(components.values())) for part in (of_clients, of_models)]
        reason = f"of what dialogues vary with, {plural(clients, 'client')} explain {shares[0]} and {plural(models, 'model')} {shares[1]}"
        reason = f"{reason[0].upper()}{reason[1:]}." if ranked else f"{start}: {reason}"
        if not ranked:
            luck = of_clients < of_models
            reason += f", but with so few it is the other way round in {percent(chance)} of draws." if luck else "."
    return ClientStudy(models, clients, len(values), len(rows) - len(values), components, chance, ranked, reason)


def _components(rows: pl.DataFrame, seed: int) -> tuple[dict[str, float], dict[str, Floats], str]:
    """Estimate the variance components of some values by factor, with draws of each; or say why there are none."""
    from mindgauge.stats import crossed, dstudy  # models of variance, which few runs need
    from mindgauge.stats.rater_sample import component_draws

    codes = {
        "dialogue" if REPEAT in columns else " × ".join(columns): rows.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.intp) - 1
        for columns in _FACTORS
    }  # fmt: skip
    codes = {name: factor for name, factor in codes.items() if 1 < len(np.unique(factor)) < len(rows)}
    if len(rows) < 2 or not codes:
        return {}, {}, "there are too few values to say what they vary with"
    try:
        numbers = rows["number"].to_numpy().astype(np.float64)
        design = crossed.Design(numbers, {name: codes[name] for name in dstudy.told_apart(codes)})
        fit = crossed.fit(design)
    except ValueError as error:
        return {}, {}, str(error)
    return dict(fit.variances), component_draws(design, fit, seed=seed), ""
