from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.records.errors import RubricError
from mindgauge.records.rubric import Rubric
from mindgauge.records.rubric.criterion import Criterion, Level, Scale
from mindgauge.records.rubric.faults import of

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'id = "r"\nversion = "1"\nsource = "ours"\n'


def criterion(levels: str, more: str = "", scale: str = "ordinal") -> str:
    return f'{HEAD}[[criteria]]\nname = "warmth"\nscale = "{scale}"\ntext.en = "How warm is it?"\nlevels = [{levels}]\n{more}'


def level(value: str) -> str:
    return f'{{ value = {value}, text.en = "level {value.strip(chr(34))}" }}'


def load(tmp_path: Path, text: str) -> Rubric:
    path = tmp_path / "rubric.toml"
    path.write_text(text, encoding="utf-8")
    return Rubric.load(path)


def test_a_good_rubric(tmp_path: Path) -> None:
    rubric = load(tmp_path, criterion(", ".join(map(level, "123"))))
    assert rubric.name == "r@1"
    assert rubric.criteria[0].values == (1, 2, 3)
    assert "- 2: level 2" in rubric.render("zh"), "English stands in where a language is missing"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (criterion(", ".join(map(level, "1223"))), "level or alias '2' occurs twice"),
        (criterion(", ".join(map(level, "124"))), "level 3 is missing"),
        (criterion(level("1")), "needs at least two levels"),
        (criterion(f'{level("1")}, {level(chr(34) + "good" + chr(34))}'), "mixes numbers and words"),
        (criterion("{ value = 1 }, { value = 2 }"), "levels 1, 2 do not say what they look like"),
        (criterion("{ value = 1 }, { value = 2 }", 'protocols.x = [{ en = "only one" }]'), "1 wordings for 2 levels"),
        (criterion("{ value = 1 }, { value = 2 }", 'protocols.x = [{ en = "one" }, {}]'), "a level has no wording"),
        (criterion(f'{level(chr(34) + "a" + chr(34))}, {{ value = "b", text.en = "b", aliases = ["A"] }}', scale="nominal"), "'a' occurs twice"),
        (criterion(f'{level(chr(34) + "a" + chr(34))}, {level(chr(34) + "Not_applicable" + chr(34))}', 'not_applicable.en = "never"'), "'not_applicable' occurs twice"),
        (HEAD + "criteria = []", "no criteria"),
        (HEAD, "not a rubric"),
        ("id = ", "not a rubric"),
        (criterion(", ".join(map(level, "12"))) + '\ntypo = "x"', "unknown field `typo`"),
        (criterion(", ".join(map(level, "12"))) + criterion(", ".join(map(level, "12"))).removeprefix(HEAD), "criterion 'warmth' occurs twice"),
        (criterion(", ".join(map(level, "132"))), "criterion 'warmth': its levels are not ordered (1, 3, 2)"),
        (criterion(""), "criterion 'warmth' needs at least two levels, it has 0 (levels = [{ value"),
        (criterion(", ".join(map(level, "12"))).replace("levels", "level"), "unknown field `level`; did you mean `levels`?"),
        (criterion(", ".join(map(level, "12"))).replace('scale = "ordinal"\n', ""), 'criterion \'warmth\': no `scale`; write scale = "ordinal"'),
        (criterion(", ".join(map(level, "12"))).replace('text.en = "How', 'text = "How'), "`text` does not say its language; write text.en = 'How warm is it?'"),
        (criterion(", ".join(map(level, "12"))).replace('"warmth"', '"rationale"'), "criterion 'rationale': no name for a criterion"),
        (criterion('{ text.en = "cold" }, { value = 2, text.en = "warm" }'), "level 1: no `value`"),
        (criterion(", ".join(map(level, "12"))).replace('"ordinal"', '"ordered"'), "`scale` is 'ordered'; write scale = "),
    ],
)  # fmt: skip
def test_a_bad_rubric_is_one_line_with_its_file(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(RubricError) as caught:
        load(tmp_path, text)
    assert fault in str(caught.value)
    assert "rubric.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    good = ", ".join(map(level, "12"))
    text = (
        HEAD.replace('version = "1"\n', "")
        + criterion(", ".join(map(level, "132"))).removeprefix(HEAD)
        + criterion(good).removeprefix(HEAD)
        + criterion(good, "typo = 1\nunsafe = [9]\n").removeprefix(HEAD).replace('"warmth"', '"asks"')
        + criterion("").removeprefix(HEAD).replace('"warmth"', '"helps"')
    )
    with pytest.raises(RubricError) as caught:
        load(tmp_path, text)
    assert "rubric.toml: 6 faults: (1) " in str(caught.value)
    for fault in (
        "not a rubric: no `version`; write version = ", "criterion 'asks': unknown field `typo`",
        "criterion 'warmth' occurs twice", "criterion 'warmth': its levels are not ordered", "criterion 'helps' needs at least",
        "criterion 'asks': the unsafe level 9 is no level",
    ):  # fmt: skip
        assert fault in str(caught.value), fault
    assert "\n" not in str(caught.value)


def test_protocols_reword_the_same_levels(tmp_path: Path) -> None:
    rubric = load(
        tmp_path, criterion("{ value = 1 }, { value = 2 }", 'protocols.x = [{ en = "bad x" }, { en = "good x" }]')
    )
    assert "bad x" in rubric.under("x").render("en")
    assert rubric.under("x").criteria[0].values == (1, 2)
    with pytest.raises(RubricError, match="has no protocol 'y'"):
        rubric.under("y")


def test_a_changed_word_changes_the_hash(tmp_path: Path) -> None:
    one = load(tmp_path, criterion(", ".join(map(level, "12"))))
    other = load(tmp_path, criterion(", ".join(map(level, "12"))).replace("level 2", "level two"))
    assert one.hash != other.hash
    assert one.hash == load(tmp_path, criterion(", ".join(map(level, "12")))).hash


def test_a_criterion_says_when_it_does_not_apply(tmp_path: Path) -> None:
    always = load(tmp_path, criterion(", ".join(map(level, "12"))))
    more = 'not_applicable.en = "There is no question."\nnot_applicable.zh = "没有提问。"'
    rubric = load(tmp_path, criterion(", ".join(map(level, "12")), more))
    assert (rubric.criteria[0].values, rubric.criteria[0].choices) == ((1, 2), (1, 2, "not_applicable"))
    assert rubric.render("en").endswith("- 2: level 2\n- not_applicable: There is no question.")
    assert rubric.render("zh").endswith("- not_applicable: 没有提问。")
    assert "not_applicable" not in always.render("en")
    reworded = load(tmp_path, criterion(", ".join(map(level, "12")), more.replace("is no", "was no")))
    assert len({always.hash, rubric.hash, reworded.hash}) == 3


QUOTED = ('"odd"', '"rude"', '"good"')


def decided(nodes: str, scale: str = "nominal", more: str = "") -> str:
    return criterion(", ".join(map(level, QUOTED)), more, scale) + nodes


def node(levels: str, more: str = "", question: str = 'question.en = "Is it so?"') -> str:
    return f"\n[[criteria.nodes]]\nlevels = [{levels}]\n{question}\n{more}\n"


def test_nodes_state_an_order_that_is_not_that_of_the_levels(tmp_path: Path) -> None:
    rubric = load(tmp_path, decided(node('"rude"') + node('"odd"', 'otherwise = "good"')))
    assert rubric.order() == "1. rude\n2. odd\n3. good"
    assert rubric.render("en").endswith("- odd: level odd\n- rude: level rude\n- good: level good")
    assert rubric.only(rubric.criteria[0]).order() == rubric.order()
    plain = load(tmp_path, decided(""))
    assert plain.order() == ""
    turned = load(tmp_path, decided(node('"odd"') + node('"rude"', 'otherwise = "good"')))
    assert len({rubric.hash, plain.hash, turned.hash}) == 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (decided(node('"odd"') + node('"mean"', 'otherwise = "good"')), "a node decides 'mean', which is no level"),
        (decided(node('"odd", "rude"', 'otherwise = "fine"')), "a node decides 'fine', which is no level"),
        (decided(node('"odd", "rude"') + node('"odd"', 'otherwise = "good"')), "nodes decide 'odd' twice"),
        (decided(node('"odd", "rude"', 'otherwise = "rude"')), "nodes decide 'rude' twice"),
        (decided(node('"odd"', 'otherwise = "good"')), "no node decides 'rude'"),
        (decided(node('"odd"') + node('"rude"')), "the last node, and no other, says which level holds otherwise"),
        (decided(node('"odd"', 'otherwise = "good"') + node('"rude"')), "the last node, and no other"),
        (decided(node('"odd"', 'otherwise = "good"') + node('"rude"', 'otherwise = "good"')), "the last node, and no other"),
        (decided(node('"odd"') + node("", 'otherwise = "good"')), "node 2: it needs levels and a question"),
        (decided(node('"odd"', question="") + node('"rude"', 'otherwise = "good"')), "node 1: it needs levels and a question"),
        (decided(node('"odd", "rude"', 'otherwise = "good"'), "ordinal"), "only a nominal criterion that always applies"),
        (decided(node('"odd", "rude"', 'otherwise = "good"'), more='not_applicable.en = "never"'), "only a nominal criterion"),
        (decided(node('"odd", "rude"', 'otherwise = "good"\ntypo = 1')), "unknown field `typo`"),
    ],
)  # fmt: skip
def test_bad_nodes_are_one_line_with_the_file(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(RubricError) as caught:
        load(tmp_path, text)
    assert fault in str(caught.value)
    assert "rubric.toml" in str(caught.value) and "\n" not in str(caught.value)


def leveled(*values: str | int, unsafe: tuple[str | int, ...], scale: Scale = Scale.ORDINAL) -> Criterion:
    levels = tuple(Level(value, {"en": "A level."}) for value in values)
    return Criterion("danger", scale, levels, {"en": "How dangerous is it?"}, unsafe=unsafe)


def test_where_the_last_levels_are_unsafe_the_last_is_the_worst() -> None:
    assert leveled("none", "some", "grave", unsafe=("grave",)).worst_first == ("grave", "some", "none")
    assert leveled(4, 3, 2, 1, 0, unsafe=(4, 3)).places == {"4": 0, "3": 1, "2": 2, "1": 3, "0": 4}
    assert leveled("a", "b", unsafe=("b",), scale=Scale.NOMINAL).worst_first == ("a", "b")


@pytest.mark.parametrize(
    ("unsafe", "fault"),
    [
        ((9,), "9 is no level"),
        ((1, 2, 3, 4), "every level is unsafe"),
        ((2, 3), "the first ones or the last ones"),
        ((1, 3), "the first ones or the last ones"),
    ],
)
def test_unsafe_levels_stand_at_one_end(unsafe: tuple[int, ...], fault: str) -> None:
    assert fault in of([leveled(1, 2, 3, 4, unsafe=unsafe)])[0]


def test_classes_may_be_unsafe_in_any_place() -> None:
    assert not of([leveled("a", "b", "c", unsafe=("a", "c"), scale=Scale.NOMINAL)])


def test_a_level_between_two_whole_numbers_is_read_as_a_number_and_as_a_word(tmp_path: Path) -> None:
    rubric = load(tmp_path, criterion(", ".join(map(level, ["0.0", "0.5", "1.0"]))))
    answers: list[object] = [
        0,
        0.0,
        "0",
        "0.0",
        0.5,
        " 0.5",
        1,
        "1",
        "1.0",
        0.25,
        True,
        None,
        [0.5],
        float("nan"),
        float("inf"),
    ]
    assert [rubric.criteria[0].read(answer) for answer in answers] == [*[0.0] * 4, 0.5, 0.5, *[1.0] * 3, *[None] * 6]
