"""What the report says of a question decided in order: path, recall, confusions with examples, calibration, restricted texts."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.reports import closed_answers, runs
from mindgauge.reports.page import ReportFiles, write
from mindgauge.store import Store
from tests import in_process
from tests.reports import asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def asked_run(asked_files: ReportFiles) -> Path:
    return asked_files.path.parent


@pytest.fixture(scope="module")
def told(asked_files: ReportFiles) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(asked_files.json.read_bytes())
    return found


@pytest.fixture(scope="module")
def html(asked_files: ReportFiles) -> str:
    return asked_files.path.read_text(encoding="utf-8")


def test_a_flow_for_each_system_those_most_often_wrong_first(told: dict[str, Any], html: str) -> None:
    flows = told["weak"]["flows"]
    assert {f["system"]["label"] for f in flows} == {asked.MODEL, f"{asked.MODEL} (sequential)", asked.CLASSIFIER}
    wrong = [
        sum(n["early"] + n["passed"] + n["other"] + n["unread_targets"] for n in f["path"]["nodes"])
        + f["path"]["lost_targets"]
        for f in flows
    ]
    assert wrong == sorted(wrong, reverse=True)
    assert html.index(flows[0]["finding"]) < html.index(flows[1]["finding"])
    for flow in flows:
        nodes = flow["path"]["nodes"]
        stopped = sum(o["answers"] for n in nodes for o in n["outcomes"]) + sum(n["unread"] for n in nodes)
        assert stopped + flow["path"]["lost"] == flow["path"]["n"] == len(asked.TASK.samples(None))


def test_a_flow_says_whether_its_path_was_asked_or_follows_from_the_label(told: dict[str, Any]) -> None:
    by_label = {f["system"]["label"]: f for f in told["weak"]["flows"]}
    assert "the path is what was asked" in by_label[f"{asked.MODEL} (sequential)"]["measure"]
    assert by_label[f"{asked.MODEL} (sequential)"]["path"]["nodes"][2]["unread"] > 0
    for flat in (asked.MODEL, asked.CLASSIFIER):
        assert "follows from that label by the order of decision" in by_label[flat]["measure"]
        assert by_label[flat]["path"]["recorded"] == 0
        assert by_label[flat]["path"]["lost"] > 0


def test_the_picture_of_a_flow_holds_the_count_of_every_outcome(told: dict[str, Any], html: str) -> None:
    for flow in told["weak"]["flows"]:
        figure = html[html.index(f'id="{flow["anchor"]}"') :].split("</figure>", maxsplit=1)[0]
        for svg in re.findall(r'<div class="(?:wide|narrow)" aria-hidden="true">(<svg.*?</svg>)', figure):
            texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
            for node in flow["path"]["nodes"]:
                assert str(node["number"]) in texts
                for outcome in node["outcomes"]:
                    answers, labels = texts[texts.index(outcome["label"]) + 1 :][:2]
                    assert answers.split(" ")[0] == str(outcome["answers"])
                    assert labels == str(outcome["targets"])
        assert f'aria-label="{flow["finding"]}. ' in figure


def test_decisions_stand_beside_those_of_answers_that_read_nothing(told: dict[str, Any]) -> None:
    rows = told["weak"]["decisions"]["rows"]
    assert {row[3] for row in rows} == {
        asked.MODEL, f"{asked.MODEL} (sequential)", asked.CLASSIFIER, "always Safe Response", "majority class",
    }  # fmt: skip
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)


def test_constant_raters_stand_beside_the_measures_and_in_the_answer(told: dict[str, Any]) -> None:
    rows = [row for row in told["compared"]["rows"] if row[1] == "accuracy"]
    assert rows[-2][2] == "always Safe Response (reads nothing)"
    assert all(
        "Answering Safe Response to everything would be right in 14 %." in a["facts"][0] for a in told["answers"]
    )


def test_a_class_with_fewer_than_thirty_messages_is_not_ranked(told: dict[str, Any]) -> None:
    figure = next(f for f in told["weak"]["figures"] if f["finding"].startswith("Recognised least"))
    assert figure["few"] == figure["rows"]
    assert figure["finding"].endswith("too few messages of each class to rank them")


def test_every_confusion_has_up_to_three_examples_that_stand_on_the_page_once(told: dict[str, Any], html: str) -> None:
    cited = {item["anchor"]: item for item in told["weak"]["cited"]}
    assert len(cited) == len(told["weak"]["cited"])
    for found in told["weak"]["confusions"]:
        at = {
            (label, column): n
            for label, row in zip(found["labels"], found["counts"], strict=True)
            for column, n in zip(found["columns"], row, strict=True)
        }
        assert {(c["label"], c["outcome"]): c["answers"] for c in found["cells"]} == {
            k: n for k, n in at.items() if n and k[0] != k[1]
        }
        for cell in found["cells"]:
            assert len(cell["examples"]) == min(3, cell["messages"])
            for example in cell["examples"]:
                item = cited[example["anchor"]]
                assert item["category"] == cell["label"]
                assert cell["outcome"] in item["summary"]
                assert f'href="#{example["anchor"]}"' in html
                assert html.count(f'id="{example["anchor"]}"') == 1


def test_the_labels_confused_most_stand_with_both_definitions_an_example_and_its_reason(
    told: dict[str, Any], html: str
) -> None:
    levels = {str(level.value): level.text for level in asked.CRITERION.levels}
    samples = {sample.id: sample for sample in asked.TASK.samples(None)}
    for found in told["weak"]["confusions"]:
        fullest = [c for c in found["cells"] if c["outcome"] in levels][:3]
        assert [(d["label"], d["outcome"]) for d in found["differences"]] == [
            (c["label"], c["outcome"]) for c in fullest
        ]
        for d, cell in zip(found["differences"], fullest, strict=True):
            n = sum(found["counts"][found["labels"].index(d["label"])])
            assert f"answered {d['outcome']}: {cell['answers']} of {n} answers" in d["finding"]
            assert d["definitions"] == [levels[d["label"]][d["language"]], levels[d["outcome"]][d["language"]]]
            assert d["words"] == " → ".join(m.content for m in samples[d["example"]["sample"]].messages[-2:])
            assert all(escape(text) in html for text in (d["finding"], *d["definitions"], d["words"], d["reason"]))
            assert d["steady"] == "The example was asked once, so nothing shows how steady its answer is."


def test_it_says_whether_the_model_followed_the_definitions_only_where_that_can_be_told(told: dict[str, Any]) -> None:
    for found in told["weak"]["confusions"]:
        for d in found["differences"]:
            if found["system"]["label"] == asked.CLASSIFIER:
                assert (d["reason"], d["followed"][:31]) == ("", "A classifier reads no definitio")
            else:
                assert d["reason"]
                assert f"Compare this reason with the definition of {d['outcome']}." in d["followed"]


@pytest.mark.parametrize("text", [True, False])
def test_repeats_say_how_steady_an_answer_is_and_a_run_without_text_shows_none(tmp_path: Path, *, text: bool) -> None:
    mindgauge.run(
        asked.TASK.name, model=Scripted(asked.MODEL, asked.answer), out=tmp_path / "run", runs=3, limit=24, text=text
    )
    opened = runs.read(tmp_path / "run", 0)
    with opened.store:
        ((_, _, pairs),) = closed_answers.differences(opened, runs.systems([opened]))
    for pair in pairs:
        n = pair.answers // 3
        messages = "1 message" if n == 1 else f"{n} messages"
        assert (
            pair.steady == f"The example got this answer in 3 of 3 repeats; {n} of {messages} got it in every repeat."
        )
        assert ("kept without text" in pair.words) is (not pair.reason) is (not text)
        assert pair.followed.startswith("No reason is kept") is not text


def test_score_names_the_labels_confused_most_and_full_puts_their_definitions_below(asked_run: Path) -> None:
    short = in_process.mindgauge("score", asked_run).stdout
    assert re.search(
        r"^Labelled .*, answered .*: \d+ of \d+ answers \(.*\); both definitions: --full$", short, re.MULTILINE
    )
    full = " ".join(in_process.mindgauge("score", asked_run, "--full").stdout.split())
    assert (
        full.count("Labelled ") == full.count("Example ") > full.count("Compare this reason with the definition of") > 0
    )
    assert any(
        " ".join(f"{level.value}: {text}".split()) in full
        for level in asked.CRITERION.levels
        for text in level.text.values()
    )


def test_an_example_shows_dialogue_reply_label_and_reasons(told: dict[str, Any], html: str) -> None:
    item = told["weak"]["cited"][0]
    assert item["reply"]["parts"]
    assert {v["rater"] for v in item["verdicts"]} == {asked.MODEL, f"{asked.MODEL} (sequential)", asked.CLASSIFIER}
    assert item["why"] == f"The label that comes with it is {item['category']}."
    shown = html[html.index(f'id="{item["anchor"]}"') :].split("</table>", maxsplit=1)[0]
    assert "The reply that is asked about" in shown
    assert asked.REASON in shown


def test_a_classifier_that_declines_abstains(told: dict[str, Any]) -> None:
    columns = {c["system"]["label"]: c["columns"] for c in told["weak"]["confusions"]}
    assert columns[asked.CLASSIFIER][-1] == "abstained"
    assert "abstained" not in columns[asked.MODEL]


def test_calibration_counts_every_sample_and_says_what_it_finds(told: dict[str, Any], html: str) -> None:
    (found,) = told["trust"]["calibration"]
    seen = found["calibrated"]
    assert seen["n"] == len(asked.TASK.samples(None)) == sum(b["n"] for b in seen["by_bin"]["bins"])
    assert seen["abstained"] > 0
    assert re.match(rf"{asked.CLASSIFIER} is \d+ % sure on average and right in \d+ %: ", found["finding"])
    assert f"{seen['abstained']} abstentions among them" in found["measure"]
    assert f"expected calibration error {seen['by_bin']['ece']:.2f}" in found["measure"]
    picture = html[html.index(f'id="{found["anchor"]}"') :].split("</figure>", maxsplit=1)[0]
    assert picture.count("scale(5)") == 2 * sum(b["n"] > 0 for b in seen["by_bin"]["bins"])


@pytest.mark.long
def test_where_there_is_no_room_examples_are_named_by_id(
    asked_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed_answers, "BUDGET", 9000)
    weak = msgspec.json.decode(write([asked_run], tmp_path).json.read_bytes())["weak"]
    assert 0 < len(weak["cited"]) < 10
    assert "named by their ids alone, to keep this page small" in weak["cited_note"]
    examples = [e for c in weak["confusions"] for cell in c["cells"] for e in cell["examples"]]
    assert {e["anchor"] for e in examples} == {"", *(item["anchor"] for item in weak["cited"])}
    assert all(e["place"].startswith("number ") for e in examples)


def _texts(files: ReportFiles) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in (files.path, files.json, files.markdown))


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run on released files, and one loaded from them."""
    folder = tmp_path_factory.mktemp("restricted")
    data = asked.released(folder / "data")
    mindgauge.papers_load(asked.TASK.name, data=data, out=folder / "loaded")
    return [asked.run(folder / "run", data), folder / "loaded"]


@pytest.fixture(scope="module")
def loaded_files(restricted: list[Path]) -> ReportFiles:
    """Of the run that was loaded."""
    return write([restricted[1]], restricted[1].parent / "hidden")


def test_restricted_texts_stay_out_of_the_report_unless_asked_for(
    restricted: list[Path], loaded_files: ReportFiles, tmp_path: Path
) -> None:
    for folder in restricted:
        hidden = loaded_files if folder == restricted[1] else write([folder], tmp_path / folder.name)
        for text in _texts(hidden):
            assert asked.MARKER not in text
            assert asked.MARKER[:4] not in text
        page = hidden.path.read_text()
        assert "40 messages stand here by id, row and numbers alone" in page
        shown = write([folder], tmp_path / f"{folder.name}-shown", show_texts=True)
        assert asked.MARKER in shown.path.read_text()
        assert "stand here by id" not in shown.path.read_text()


def test_our_own_samples_are_shown_among_restricted_ones(restricted: list[Path], loaded_files: ReportFiles) -> None:
    ours = {sample.id for sample in asked.TASK.samples(None)}
    with Store(restricted[1]) as store:
        own = [sample for sample in store.samples(asked.TASK.name) if sample.id in ours]
    assert len(own) == 1
    assert own[0].messages[0].content in loaded_files.path.read_text()


def test_restricted_examples_are_cited_by_id_and_row(restricted: list[Path], loaded_files: ReportFiles) -> None:
    found = msgspec.json.decode(loaded_files.json.read_bytes())
    with Store(restricted[1]) as store:
        ids = store.sample_ids(asked.TASK.name)
    hidden = [
        e for c in found["weak"]["confusions"] for cell in c["cells"] for e in cell["examples"] if not e["anchor"]
    ]
    assert hidden
    assert all(example["place"] == f"row {ids.index(example['sample'])}" for example in hidden)


def test_a_restricted_example_shows_definitions_without_text_or_reason_in_report_and_terminal(
    restricted: list[Path], tmp_path: Path
) -> None:
    found = msgspec.json.decode(write([restricted[0]], tmp_path).json.read_bytes())["weak"]["confusions"]
    hidden = [d for c in found if c["system"]["label"] == asked.MODEL for d in c["differences"] if not d["words"]]
    assert hidden
    assert all(d["definitions"][0] and not d["reason"] for d in hidden)
    assert all(d["followed"].startswith("The text and the reason are restricted") for d in hidden)
    said = in_process.mindgauge("score", restricted[0], "--full").stdout
    assert "its text is not shown" in said
    assert asked.MARKER not in said


def test_a_classifier_without_probabilities_is_named(loaded_files: ReportFiles) -> None:
    general = msgspec.json.decode(loaded_files.json.read_bytes())["trust"]["general"]
    assert any(fact.startswith("Of bert-base-chinese there are labels and no probabilities") for fact in general)


def test_the_settings_of_every_way_of_asking_are_told(told: dict[str, Any]) -> None:
    (models,) = (made["models"] for made in told["how"]["runs"])
    (row,) = models["rows"]
    assert row[0] == asked.MODEL
    assert row[2] == "in process"
