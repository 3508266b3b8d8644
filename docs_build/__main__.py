"""`python -m docs_build`: the reference, the outputs and the pictures, written anew."""

from __future__ import annotations

from docs_build import pictures, reference, shown

reference.write()
shown.refresh()
pictures.take()
