"""Transcripts of dialogues between a person and a bot, as people keep them: one reader, and an account of what it read."""

from mindgauge.records.transcripts.account import TranscriptAccount
from mindgauge.records.transcripts.reading import COLUMNS, TEXTS, Transcripts, read
from mindgauge.records.transcripts.transcript import Transcript, Turn, as_row

__all__ = ["COLUMNS", "TEXTS", "Transcript", "TranscriptAccount", "Transcripts", "Turn", "as_row", "read"]
