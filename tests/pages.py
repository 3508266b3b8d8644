"""What a reader sees of a page."""

import html
import re


def text_of(page: str) -> str:
    """Return the text of a page without its markup; a space that does not break is a space."""
    return html.unescape(re.sub(r"<[^>]*>", "", page)).replace("\N{NO-BREAK SPACE}", " ")
