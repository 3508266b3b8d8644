"""Tables in the terminal: the layout is Rich's, line by line, whatever stands in them and however narrow the page is."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mindgauge.cli import layout
from tests.thinned import examples

WORDS = st.text(st.sampled_from("ab-/#.…–é安全を\U0001f9d8 "), max_size=30)
TABLES = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(WORDS, min_size=n, max_size=n), st.lists(st.lists(WORDS, min_size=n, max_size=n), max_size=5)
    )
)


def by_rich(columns: list[str], rows: list[list[str]], width: int) -> str:
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(Text(column), overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(drawn)
    return stream.getvalue()


@examples(150)
@given(TABLES, st.integers(40, 170))
def test_a_table_is_laid_out_as_rich_lays_it_out(table: tuple[list[str], list[list[str]]], width: int) -> None:
    assert "".join(f"{line}\n" for line in layout.lines(*table, width)) == by_rich(*table, width)


@pytest.mark.parametrize("width", [20, 60])
def test_names_are_bold_where_a_terminal_shows_it(width: int) -> None:
    table = (["model", "value of the first"], [["a model with a long name", "97 %"]], width)
    styled = "".join(f"{line}\n" for line in layout.lines(*table, styled=True))
    assert f"{layout.BOLD}model" in styled
    assert styled.replace(layout.BOLD, "").replace(layout.NORMAL, "") == by_rich(*table)
