"""The run directory's database: samples, replies, ratings and calls in one SQLite file."""

from mindgauge.store.run import ReplyScope, Store

__all__ = ["ReplyScope", "Store"]
