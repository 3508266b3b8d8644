"""Labels out (`export`, with a template for each tool) and in: reading a file (`reading`), and taking it in (`intake`)."""

from mindgauge.annotation.exchange.export import FORMATS, LABEL_STUDIO, POTATO, Content, content, files
from mindgauge.annotation.exchange.intake import take_in
from mindgauge.annotation.exchange.known import ImportedLabel, Known
from mindgauge.annotation.exchange.reading import read

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
