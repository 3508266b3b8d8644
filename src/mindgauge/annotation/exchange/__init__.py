"""Labels out (`export`, with a template for each tool) and in: reading a file (`reading`), and taking it in (`intake`)."""

from mindgauge.annotation.exchange.export import FORMATS, LABEL_STUDIO, POTATO, content, files
from mindgauge.annotation.exchange.intake import take_in
from mindgauge.annotation.exchange.reading import Known, read

__all__ = ["FORMATS", "LABEL_STUDIO", "POTATO", "Known", "content", "files", "read", "take_in"]
