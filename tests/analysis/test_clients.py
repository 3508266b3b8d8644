"""Whether clients explain more than models: on dialogues of known components."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.client_study import CLIENT, MODEL, MODEL_CLIENT, MOST_DOUBT, NOT_APART, study
from tests.thinned import sampled


def dialogues(
    *, model: float, client: float, both: float = 0.0, persona: float = 0.5, error: float = 0.5, seed: int = 0,
    sizes: tuple[int, int, int, int, int] = (4, 3, 8, 1, 1), judge: float = 0.1,
) -> pl.DataFrame:  # fmt: skip
    """Draw values of dialogues with effects of these standard deviations; sizes: models, clients, personas, repeats, judges."""
    generator = np.random.default_rng(seed)
    models, clients, personas, _, judges = sizes
    effects = [sd * generator.normal(size=n) for sd, n in ((model, models), (client, clients), (persona, personas))]
    shift, tilt = both * generator.normal(size=(models, clients)), judge * generator.normal(size=judges)
    rows = [
        (
            f"model {m}", f"client {c}", f"persona {p}", r, f"judge {j}",
            3 + effects[0][m] + effects[1][c] + effects[2][p] + shift[m, c] + tilt[j] + error * generator.normal(),
        )
        for m, c, p, r, j in itertools.product(*map(range, sizes))
    ]  # fmt: skip
    return pl.DataFrame(rows, ["model", "client", "persona", "repeat", "judge", "number"], orient="row")


@pytest.mark.parametrize("seed", sampled(range(5), 3))
def test_models_that_differ_more_than_clients_are_ranked(seed: int) -> None:
    found = study(dialogues(model=1.5, client=0.1, seed=seed))
    assert found.ranked, found.reason
    assert NOT_APART not in found.reason.lower()
    assert found.chance is not None
    assert found.chance <= MOST_DOUBT


@pytest.mark.parametrize("seed", sampled(range(5), 5))
@pytest.mark.parametrize("how", ["alike", "by model"])
def test_no_rank_where_clients_explain_more(seed: int, how: str) -> None:
    client, both = (1.5, 0.0) if how == "alike" else (0.0, 1.5)
    found = study(dialogues(model=0.1, client=client, both=both, seed=seed))
    assert not found.ranked
    assert found.reason.startswith("These models cannot be told apart with these clients")
    assert found.chance is not None
    assert found.chance > MOST_DOUBT
    by_luck = found.components[CLIENT] + found.components[MODEL_CLIENT] < found.components[MODEL]
    assert ("the other way round" in found.reason) == by_luck


@pytest.mark.long
def test_components_are_those_that_were_drawn() -> None:
    found = study(dialogues(model=1.0, client=0.6, both=0.4, persona=0.5, sizes=(10, 10, 8, 1, 1), seed=3))
    values = found.components
    drawn = np.random.default_rng(3)
    assert values[MODEL] == pytest.approx(drawn.normal(size=10).var(ddof=1), rel=0.25), "of the models that were drawn"
    assert values[CLIENT] == pytest.approx(0.36 * drawn.normal(size=10).var(ddof=1), rel=0.4)
    assert values[MODEL_CLIENT] == pytest.approx(0.16, rel=0.3)
    assert values["persona"] == pytest.approx(0.25, rel=0.7)
    assert values["residual"] == pytest.approx(0.25, rel=0.15)


def test_one_client_ranks_nobody() -> None:
    found = study(dialogues(model=2.0, client=0.0, sizes=(3, 1, 8, 2, 1)))
    assert not found.ranked
    assert "there is one client" in found.reason


def test_one_model_has_nothing_to_rank() -> None:
    found = study(dialogues(model=1.0, client=0.5, sizes=(1, 2, 8, 2, 1)))
    assert not found.ranked
    assert "client" in found.components


def test_clients_that_go_with_models_cannot_be_told_from_them() -> None:
    rows = dialogues(model=2.0, client=0.1, sizes=(4, 4, 8, 2, 1))
    nested = rows.filter(pl.col("model").str.tail(1) == pl.col("client").str.tail(1))
    found = study(nested)
    assert not found.ranked
    assert "cannot be told from what else varies" in found.reason


def test_clients_that_some_models_may_not_have_are_no_hindrance() -> None:
    rows = dialogues(model=3.0, client=0.1, sizes=(4, 3, 10, 1, 1))
    kept = rows.filter(pl.col("model").str.tail(1) != pl.col("client").str.tail(1))
    assert study(kept).ranked


def test_missing_values_are_counted_and_no_zeros() -> None:
    rows = dialogues(model=1.5, client=0.1)
    holes = rows.with_columns(number=pl.when(pl.int_range(pl.len()) % 7 > 0).then("number"))
    full, partly = study(rows), study(holes)
    assert (partly.n + partly.missing, partly.missing) == (len(rows), -(-len(rows) // 7))
    assert partly.ranked
    assert partly.components[MODEL] == pytest.approx(full.components[MODEL], rel=0.2)


def test_values_that_do_not_vary_rank_nobody() -> None:
    found = study(dialogues(model=0.0, client=0.0, persona=0.0, error=0.0, judge=0.0, sizes=(3, 2, 4, 2, 1)))
    assert not found.ranked
    assert "all values are the same" in found.reason


def test_nothing_at_all_ranks_nobody() -> None:
    rows = dialogues(model=1.0, client=0.1).with_columns(number=pl.lit(None, pl.Float64))
    assert not study(rows).ranked
    assert not study(rows.clear()).ranked


def test_names_order_and_unit_change_nothing() -> None:
    rows = dialogues(model=1.0, client=0.8, sizes=(3, 3, 8, 2, 1))
    other = study(
        rows.sample(fraction=1.0, shuffle=True, seed=1).with_columns(
            pl.col("model").replace({"model 0": "z", "model 2": "a"}), number=pl.col("number") * 10 - 3
        )
    )
    found = study(rows)
    assert other.ranked == found.ranked
    for name, component in found.components.items():
        assert other.components[name] == pytest.approx(100 * component, rel=1e-3, abs=1e-3)
