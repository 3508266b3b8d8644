"""The browser that tests drive: Debian's, where it is installed."""

from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
