"""Ratings as people have them: whatever shape a table has, one long table, and what was read and left out in words.

`tables` opens what somebody brings, `columns` and `one_table` tell what each column is, `exports`, `forms` and `tasks` know
other tools' tables, `groups` puts tables of one kind together, `subjects` and `shapes` set them
out in long form, `layers` looks below titles, `long` and `spellings` check values and repeats, `account` says what was read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindgauge.records.ratings.account import Account
    from mindgauge.records.ratings.layout import NOTHING_SAID, RatingLayout
    from mindgauge.records.ratings.reading import LongRatings, read

__all__ = ["NOTHING_SAID", "Account", "LongRatings", "RatingLayout", "read"]
_WHERE = {
    "Account": "account",
    "LongRatings": "reading",
    "NOTHING_SAID": "layout",
    "RatingLayout": "layout",
    "read": "reading",
}


def __getattr__(name: str) -> object:
    # Loaded when first used: a report needs an account's class, and no reader of tables.
    if name not in _WHERE:
        raise AttributeError(f"module 'mindgauge.records.ratings' has no attribute {name!r}")
    return getattr(importlib.import_module(f"mindgauge.records.ratings.{_WHERE[name]}"), name)
