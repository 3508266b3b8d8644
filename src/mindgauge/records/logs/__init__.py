"""Logs of calls to models, as tracing tools write them → the dialogues that they are pieces of."""

from mindgauge.records.logs.reading import is_log, opened

__all__ = ["is_log", "opened"]
