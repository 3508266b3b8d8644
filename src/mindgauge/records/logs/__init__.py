"""Logs of calls to models, as tracing tools write them → the dialogues that they are pieces of."""

from mindgauge.records.logs.reading import GatheredCalls

__all__ = ["GatheredCalls"]
