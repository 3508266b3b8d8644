"""Classifiers need libraries that Mindgauge does without otherwise: the extra `classifier`."""

from __future__ import annotations

from importlib.util import find_spec

from mindgauge.records.errors import UsageError

BASELINE = ("sklearn", "safetensors")
ENCODER = ("torch", "transformers", "safetensors")


def need(libraries: tuple[str, ...]) -> None:
    """See that libraries are installed, without importing them.

    Raises:
        UsageError: one is not.
    """
    missing = next((name for name in libraries if find_spec(name) is None), None)
    if missing is not None:
        raise UsageError(f"{missing} is not installed; `pip install 'mindgauge[classifier]'` brings it")
