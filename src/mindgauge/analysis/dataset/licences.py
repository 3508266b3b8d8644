"""Whether a licence lets a text be passed on. Only what is known to allow it does; unknown is not permission."""

from __future__ import annotations

OPEN = frozenset({
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0",
    "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0",
    "CDLA-Sharing-1.0", "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "MIT", "MIT-0", "O-UDA-1.0", "ODC-By-1.0", "ODbL-1.0", "PDDL-1.0",
    "Unlicense",
})  # fmt: skip
"""SPDX ids of licences under which a changed selection of texts may be passed on, some of them without profit, or alike."""
NO_CHANGES = frozenset({"CC-BY-ND-3.0", "CC-BY-ND-4.0", "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0"})
"""SPDX ids of licences that forbid what a recipe does: passing on a changed selection."""
_OPEN = {ident.casefold(): ident for ident in OPEN | NO_CHANGES}
ALIKE = frozenset({"CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CDLA-Sharing-1.0", "ODbL-1.0", "GPL-3.0-only", "GPL-3.0-or-later"})  # fmt: skip
"""Licences that ask for the same licence of whatever holds their texts."""


def spdx(licence: str) -> str:
    """Return a licence as SPDX writes it, where this program knows it; else as it stands."""
    words = " ".join(licence.split())
    return _OPEN.get(words.replace(" ", "-").casefold(), words)


def refusal(licence: str, redistribute: bool | None) -> str:
    """Say why texts under a licence may not be passed on; nothing where they may.

    Args:
        licence: an SPDX id, or any words.
        redistribute: what the recipe says of permission; None where it says nothing.
    """
    ident = spdx(licence)
    if redistribute is not None:
        return "" if redistribute else "the recipe says redistribute = false"
    if ident in NO_CHANGES:
        return f"{ident} forbids passing on a changed selection"
    if ident in OPEN:
        return ""
    return f"whether {ident or 'an unnamed licence'} allows it is not known; unknown is not permission"


def conflict(licence: str, redistribute: bool | None, release: str) -> str:
    """Say why texts under a licence may not be released under another; nothing where they may, as far as ids say it."""
    ident, target = spdx(licence), spdx(release)
    if reason := refusal(licence, redistribute):
        return reason
    if redistribute is None and ident in ALIKE and ident != target:
        return f"{ident} asks for the same licence, and the data set is released under {target}"
    if redistribute is None and "-NC-" in ident and "-NC-" not in target:
        return f"{ident} forbids commercial use, and {target} would allow it"
    return ""
