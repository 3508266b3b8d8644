"""One command, one function: the public API. Commands never print; what they return prints itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records import command_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.records.command_result import Tabular


def _summary(result: Tabular) -> Iterable[str]:
    from mindgauge.reports import notebook

    return notebook.summary(result)


def _page(result: Tabular) -> str:
    from mindgauge.reports import notebook

    return notebook.page(result)


command_result.show_by(_summary, _page)
