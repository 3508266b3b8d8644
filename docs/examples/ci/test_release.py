"""The gate as a test of your own suite: pytest shows the reasons where it does not pass."""

import mindgauge


def test_the_build_may_be_released() -> None:
    """Fail unless every rule is met."""
    result = mindgauge.gate("runs/build", policy="gate.toml")
    assert result, str(result)
