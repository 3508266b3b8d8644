"""A report's words in Markdown, in the language that is spoken; what is not known stays English, and is marked as such."""

from __future__ import annotations

from mindgauge.records import text as english_text
from mindgauge.reports.language.patterns import ENDS, ENGLISH
from mindgauge.reports.language.spoken import current

_MARK = '<span lang="en">', "</span>"


def plain(content: object) -> str:
    """Write a text so that it stands for itself: no markup, no links, nobody pinged."""
    translator = current()
    if translator is None:
        return english_text.text(content)
    parts = []
    for sentence in translator.sentences(str(content)):
        pieces = sentence.text.replace(ENDS, ENGLISH).split(ENGLISH)
        marked = [
            f"{_MARK[0]}{english_text.text(piece)}{_MARK[1]}"
            if number % 2 or not sentence.known
            else english_text.text(piece)
            for number, piece in enumerate(pieces)
            if piece
        ]
        parts.append("".join(marked))
    return english_text.join(parts)
