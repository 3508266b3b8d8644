"""Transcripts of dialogues between a person and a bot, as people keep them: one reader, and an account of what it read."""

from mindgauge.records.transcripts.reading import TEXTS, read
from mindgauge.records.transcripts.transcript import Transcript, as_row

__all__ = ["TEXTS", "Transcript", "as_row", "read"]
