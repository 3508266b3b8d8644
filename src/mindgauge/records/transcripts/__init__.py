"""Transcripts of dialogues between a person and a bot, as people keep them: one reader, and an account of what it read."""

from mindgauge.records.transcripts.account import Account
from mindgauge.records.transcripts.reading import COLUMNS, Transcripts, read
from mindgauge.records.transcripts.transcript import Transcript, Turn

__all__ = ["COLUMNS", "Account", "Transcript", "Transcripts", "Turn", "read"]
