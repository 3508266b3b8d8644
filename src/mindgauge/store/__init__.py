"""The run directory's database: samples, replies, ratings and calls in one SQLite file."""

from mindgauge.store.run import Store
from mindgauge.store.schema import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Store"]
