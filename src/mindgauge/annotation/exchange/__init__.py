"""Labels out and in: plain tables (`table`), Label Studio and Potato (`label_studio`, `potato`), and taking them in (`intake`)."""

from mindgauge.annotation.exchange.content import Content, content
from mindgauge.annotation.exchange.formats import FORMATS, LABEL_STUDIO, POTATO, files, read
from mindgauge.annotation.exchange.intake import take_in
from mindgauge.annotation.exchange.known import ImportedLabel, Known

__all__ = [
    "FORMATS",
    "LABEL_STUDIO",
    "POTATO",
    "Content",
    "ImportedLabel",
    "Known",
    "content",
    "files",
    "read",
    "take_in",
]
