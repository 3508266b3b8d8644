"""The Hugging Face layout of replies and what raters said of them: its tables described, read, and made records again."""

from mindgauge.benchmarks.hub_layout.tables import is_one

__all__ = ["is_one"]
