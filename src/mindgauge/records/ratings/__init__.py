"""Ratings as people have them: whatever shape a table has, one long table, and what was read and left out in words.

`tables` opens what somebody brings, `columns` tells what each column is, `exports` knows other tools' tables, `shapes`
sets all others out in long form, `long` checks values, spellings and repeats, and `account` says what was read.
"""

from mindgauge.records.ratings.account import Account
from mindgauge.records.ratings.layout import NOTHING_SAID, RatingLayout
from mindgauge.records.ratings.reading import LongRatings, read

__all__ = ["NOTHING_SAID", "Account", "LongRatings", "RatingLayout", "read"]
