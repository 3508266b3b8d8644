"""One command, one function: the public API. Commands never print; what they return prints itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records import tabular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.records.tabular import Tabular


def _summary(result: Tabular) -> Iterable[str]:
    from mindgauge.reports import notebook

    return notebook.summary(result)


def _page(result: Tabular) -> str:
    from mindgauge.reports import notebook

    return notebook.page(result)


tabular.show_by(_summary, _page)
