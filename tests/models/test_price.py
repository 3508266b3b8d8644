"""What tokens cost, those from the server's cache included."""

from __future__ import annotations

import pytest

from mindgauge.cli.options import price as price_of
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records.errors import UsageError
from mindgauge.records.request import Price


def test_cached_tokens_cost_what_they_cost() -> None:
    assert Price(1.0, 10.0).of(100, 2) == Price(1.0, 10.0).of(100, 2, 60) == 120
    assert Price(1.0, 10.0, 0.1).of(100, 2, 60) == pytest.approx(40 + 6 + 20)
    assert Price(1.0, 10.0, 0.0).of(100, 0, 100) == 0


def test_listed_models_have_a_price_for_cached_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    price = open_model("openai/gpt-4o-mini", Settings()).price
    assert price is not None and price.cached is not None
    assert 1e6 * price.cached == pytest.approx(0.075)


def price(text: str) -> Price | None:
    return price_of(text)


def test_a_price_is_given_with_or_without_cache() -> None:
    assert price("1:2") == Price(1e-6, 2e-6)
    assert price("1:2:0.5") == Price(1e-6, 2e-6, 0.5e-6)
    for wrong in ("1", "1:2:3:4", "a:b", ""):
        with pytest.raises(UsageError, match="write IN:OUT or IN:OUT:CACHED"):
            price(wrong)
