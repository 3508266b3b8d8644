"""One rounding rule: what it promises of every number, and that nobody writes numbers past it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import assume, example, given
from hypothesis import strategies as st

import mindgauge
from mindgauge.records.rounding import (
    bounded,
    count,
    decimal,
    dollars,
    interval,
    megabytes,
    p_equals,
    p_value,
    percent,
    plural,
    points,
    precise,
    seconds,
)

if TYPE_CHECKING:
    from mindgauge.records import rounding

SHARES = st.floats(1e-9, 1 - 1e-9)
NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: abs(x - round(x)) > 1e-9 * max(1.0, abs(x)))


def number(text: str) -> float:
    """Read a written number, without its unit and without a bound's sign."""
    return float(re.sub(r"[<>+$,%]|points|s$|MB", "", text).replace("−", "-"))


@given(SHARES, st.integers(0, 3))
@example(0.004, 0)
@example(0.9951, 0)
@example(0.005, 0)
@example(0.0005, 1)
def test_a_share_between_none_and_all_is_written_as_neither(share: float, digits: int) -> None:
    written = percent(share, digits)
    assert written.startswith(("<", ">")) or 0 < number(written) < 100
    low = written.startswith("<")
    assert abs(number(written) - 100 * share) <= 10.0**-digits * (1 if low or written.startswith(">") else 0.5001)


@given(st.integers(1, 100_000), st.data())
def test_only_none_of_n_is_0_percent_and_only_all_of_n_100(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    for write in (percent, precise):
        assert (number(write(k / n)) == 0 and "<" not in write(k / n)) == (k == 0)
        assert (number(write(k / n)) == 100 and ">" not in write(k / n)) == (k == n)


@given(NUMBERS, st.integers(0, 4), st.booleans())
@example(0.004, 2, False)
@example(-0.004, 2, True)
@example(0.998, 2, False)
@example(4.97, 1, False)
def test_what_is_not_whole_is_never_written_as_a_whole_number(value: float, digits: int, signed: bool) -> None:
    written = decimal(value, digits, signed=signed)
    assert not number(written).is_integer()
    assert abs(number(written) - value) <= 0.5001 * 10.0**-digits
    assert ("−" in written) == (value < 0)
    assert "-" not in written
    assert written.startswith("+") == (signed and value > 0)


@given(st.integers(-1000, 1000), st.floats(-1e-13, 1e-13))
@example(0, -1e-13)
def test_a_computers_rounding_is_no_difference(whole: int, error: float) -> None:
    assert decimal(whole + error) == f"{whole}.00".replace("-", "−")
    assert "+" not in decimal(error, signed=True)


@given(SHARES, SHARES, st.sampled_from(["share", "precise", "level", "points"]), st.booleans())
@example(0.8316, 0.8324, "level", False)
@example(0.001, 0.004, "share", False)
def test_an_interval_with_a_width_is_written_with_one(a: float, b: float, kind: rounding.Kind, signed: bool) -> None:
    low, high = sorted((a, b))
    assume(high - low > 1e-9)
    first, second = interval(low, high, kind, signed=signed).removesuffix(" %").removesuffix(" points").split(" to ")
    assert first != second
    assert number(first) <= number(second)
    ends = bounded(low, low, high, kind, signed=signed)
    assert f"[{first}, {second}]" in ends


@given(st.floats(0, 1))
@example(0.0)
@example(0.9999)
def test_a_p_value_is_never_written_as_0_and_as_1_only_where_it_is(p: float) -> None:
    assert p_value(p) == "<0.001" or number(p_value(p)) > 0
    assert (p_value(p) == "1.000") == (p > 1 - 1e-12)


@given(st.floats(1e-9, 1e6))
def test_an_amount_that_is_something_is_never_written_as_nothing(amount: float) -> None:
    for written in (dollars(amount), seconds(amount), seconds(amount, 1), megabytes(amount * 1e6)):
        assert written.startswith("<") or number(written) > 0


def test_numbers_as_they_are_written() -> None:
    assert [percent(s) for s in (0.0, 0.004, 0.005, 0.006, 0.365, 0.994, 0.996, 1.0, None)] == [
        "0 %", "<1 %", "<1 %", "1 %", "36 %", "99 %", ">99 %", "100 %", "–",
    ]  # fmt: skip
    assert [precise(s) for s in (0.0004, 0.365, 0.9996)] == ["<0.1 %", "36.5 %", ">99.9 %"]
    assert [decimal(v) for v in (0.0, -0.0, 0.004, -0.004, 0.998, -1.0, 3.14159, None)] == [
        "0.00", "0.00", "0.004", "−0.004", "0.998", "−1.00", "3.14", "–",
    ]  # fmt: skip
    assert [decimal(v, 1) for v in (4.97, 5.0, 3.25)] == ["4.97", "5.0", "3.2"]
    assert points(0.0004, signed=True) == "+0.04 points"
    assert interval(0.0, 0.116, "share") == "0 to 12 %"
    assert interval(0.001, 0.004, "share") == "0.1 to 0.4 %"
    assert interval(0.8316, 0.8324) == "0.8316 to 0.8324"
    assert bounded(0.36, 0.31, 0.42) == "0.36 [0.31, 0.42]"
    assert bounded(0.36, None, None) == "0.36"
    assert bounded(-0.12, -0.2, 0.001, signed=True) == "−0.12 [−0.20, +0.001]"
    assert bounded(0.123, 0.1, 0.15, "precise") == "12.3 % [10.0, 15.0]"
    assert interval(None, 0.2) == "no interval"
    assert [p_value(p) for p in (0.0, 0.0004, 0.0123, 0.9999, 1.0, None)] == [
        "<0.001", "<0.001", "0.012", ">0.999", "1.000", "–",
    ]  # fmt: skip
    assert (p_equals(0.0123), p_equals(0.0001)) == ("p = 0.012", "p < 0.001")
    assert [dollars(c) for c in (0.0, 0.00001, 1234.5, None)] == ["$0.0000", "<$0.0001", "$1,234.5000", "–"]
    assert (seconds(0.3), seconds(0.0), seconds(12.6)) == ("<1 s", "0 s", "13 s")
    assert (count(12345), plural(1, "reply", "replies"), plural(2, "reply", "replies")) == (
        "12,345", "1 reply", "2 replies",
    )  # fmt: skip


PAST = re.compile(r"[.]\d+[fFeE%]|^[+,]*%$")
"""A format of a number with decimals, or of a share."""
MAYBE = re.compile(r"[.]\d+[fFeE%]|[:}][+,]*%[{}]|\\(?:[0-7uUxN]|\n)")
"""What every file with such a format has, or it writes one of its characters by an escape."""
ALLOWED = {
    "records/rounding.py": "it is the rule",
    "annotation/database.py": "a setting of the database",
    "benchmarks/metrics/variants.py": "the name of a tag, which must be the same everywhere",
    "benchmarks/variants/perturbation.py": "the name of a tag, which must be the same everywhere",
    "reports/draw/canvas.py": "places in a picture",
}
SOURCE = Path(mindgauge.__file__).parent


def formats(file: Path) -> list[str]:
    """Return the formats of numbers in a file's f-strings that round, and the lines they stand in."""
    text = file.read_text(encoding="utf-8")
    if not MAYBE.search(text):  # to parse all files takes seconds
        return []
    tree = ast.parse(text)
    specs = [
        (node.lineno, part.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr)
        for part in node.format_spec.values
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return [f"line {line}: {spec}" for line, spec in specs if PAST.search(spec)]


def test_nobody_writes_numbers_past_the_rule() -> None:
    specs = {str(file.relative_to(SOURCE)): formats(file) for file in sorted(SOURCE.rglob("*.py"))}
    assert len(specs) > 300
    assert {name: past for name, past in specs.items() if past and name not in ALLOWED} == {}
    assert not any("%" in spec for name in ALLOWED for spec in specs[name])


def test_each_exception_is_one() -> None:
    for name in ALLOWED:
        assert formats(SOURCE / name), f"{name} rounds nothing: take it off the list"
