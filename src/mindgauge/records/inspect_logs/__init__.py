"""Logs of Inspect (`.eval`, `.json`) as what people bring: replies, dialogues, ratings; without inspect-ai."""

from mindgauge.records.inspect_logs.log import ENDING, opened

__all__ = ["ENDING", "opened"]
