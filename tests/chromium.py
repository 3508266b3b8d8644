"""The browser that tests drive: Debian's, where it is installed; the shell without windows first, for it takes a quarter less."""

from pathlib import Path

CHROMIUM = next(filter(Path.is_file, map(Path, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium"))), Path())
FLAGS = ("--disable-gpu", "--disable-software-rasterizer")
"""Pages are drawn on the processor, and not as if it were a graphics card."""
