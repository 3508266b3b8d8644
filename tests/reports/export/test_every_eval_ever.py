"""Every Eval Ever: files that its own schemas take (tests/reports/export/every_eval_ever, MIT), and what they say of what is missing."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.records.errors import UsageError
from mindgauge.reports.export.every_eval_ever.identity import ModelIdentity
from tests.reports.export.conftest import HOSTILE, MODELS
from tests.reports.export.test_traces import run as traced

if TYPE_CHECKING:
    from tests.reports.export.conftest import Copy

__all__ = ["traced"]

SCHEMAS = Path(__file__).parent / "every_eval_ever"
PLACE = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(_samples\.jsonl|\.json)"
)


class SharedFile(NamedTuple):
    """What was written of one benchmark and model."""

    place: str
    figures: dict[str, Any]
    rows: list[dict[str, Any]]

    def of(self, rater: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["metadata"]["rater"] == rater]


def schema(name: str) -> Any:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


def shared(folder: Path, out: Path, **options: Any) -> list[SharedFile]:
    """Export, and hold every file against its schema and its place."""
    mindgauge.export(folder, to="eee", out=out, **options)
    figures_schema, row_schema = schema("eval.schema.json"), schema("instance_level_eval.schema.json")
    files = []
    for path in sorted((out / "data").rglob("*.json")):
        figures = json.loads(path.read_text(encoding="utf-8"))
        figures_schema.validate(figures)
        content = path.with_name(f"{path.stem}_samples.jsonl").read_bytes()
        rows = [json.loads(line) for line in content.splitlines()]
        for row in rows:
            row_schema.validate(row)
            assert row["evaluation_id"] == figures["evaluation_id"]
        details, place = figures["detailed_evaluation_results"], str(path.relative_to(out))
        assert PLACE.fullmatch(place)
        assert PLACE.fullmatch(details["file_path"])
        assert (details["total_rows"], details["checksum"]) == (len(rows), hashlib.sha256(content).hexdigest())
        files.append(SharedFile(place, figures, rows))
    return files


def figure(file: SharedFile, name: str, rater: str) -> dict[str, Any]:
    [result] = [
        result
        for result in file.figures["evaluation_results"]
        if (result["metric_config"]["metric_kind"], result["metric_config"]["additional_details"]["rater"])
        == (name, rater)
        and result["metric_config"]["additional_details"]["slice"] == "all"
    ]
    figures: dict[str, Any] = result
    return figures


def test_each_model_has_a_file_of_figures_and_its_ratings(run: Path, tmp_path: Path) -> None:
    files = shared(run, tmp_path / "out", organisation="A lab", relationship="third_party")
    assert sorted(file.figures["model_info"]["name"] for file in files) == sorted(MODELS)
    assert {file.figures["source_metadata"]["source_organization_name"] for file in files} == {"A lab"}
    assert {file.figures["source_metadata"]["evaluator_relationship"] for file in files} == {"third_party"}
    assert str(tmp_path) not in json.dumps([file.figures for file in files])


def test_a_missing_verdict_is_no_number_that_a_level_has_and_is_counted(run: Path, tmp_path: Path) -> None:
    [file] = [file for file in shared(run, tmp_path / "out") if file.figures["model_info"]["name"] == MODELS[0]]
    judged = file.of("local/判官")
    scores = [
        (row["metadata"]["status"], row["evaluation"]["score"], row["evaluation"]["is_correct"]) for row in judged
    ]
    # The judge was asked twice of four replies; that a criterion does not apply is no verdict.
    assert len(scores) == 7
    assert {status for status, _, _ in scores} == {"ok", "unparsable", "failed"}
    assert all((score == -1.0) == (status != "ok") for status, score, _ in scores)
    assert all(not correct for status, _, correct in scores if status != "ok")
    assert {row["error"] for row in judged if row["metadata"]["status"] != "ok"} == {
        "no verdict: unparsable",
        "no verdict: failed",
    }


def test_figures_have_intervals_what_is_missing_and_who_judged(run: Path, tmp_path: Path) -> None:
    [file] = [file for file in shared(run, tmp_path / "out") if file.figures["model_info"]["name"] == MODELS[1]]
    result = figure(file, "mean", "local/判官")
    score, config = result["score_details"], result["metric_config"]
    interval = score["uncertainty"]["confidence_interval"]
    assert interval["lower"] <= score["score"] <= interval["upper"]
    assert (config["score_type"], config["level_names"], config["min_score"], config["max_score"]) == (
        "levels",
        list("12345"),
        1,
        5,
    )
    assert (config["additional_details"]["n"], config["additional_details"]["missing"]) == ("8", "0")
    [judge] = config["llm_scoring"]["judges"]
    assert judge["model_info"]["name"] == "local/判官"
    assert judge["additional_details"]["resolved"] == "judge-2026"
    assert config["additional_details"]["verdict"]
    assert config["additional_details"]["instrument"] == "i#1"
    assert file.rows[0]["evaluation_result_id"] in {
        entry["evaluation_result_id"] for entry in file.figures["evaluation_results"]
    }


def test_people_are_not_named(run: Path, tmp_path: Path) -> None:
    shared(run, tmp_path / "out")
    content = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.json*"))
    assert "zoe@clinic.example" not in content
    assert '"rater":"H2"' in content


def test_a_model_may_be_called_anything_and_leaves_the_folder_never(run: Path, tmp_path: Path) -> None:
    [file] = [file for file in shared(run, tmp_path / "out") if file.figures["model_info"]["name"] == HOSTILE]
    assert ".." not in Path(file.place).parts


@given(name=st.text(max_size=40) | st.builds(str.__mul__, st.text(min_size=1, max_size=9), st.integers(30, 3000)))
def test_any_name_has_a_place_of_five_parts(name: str) -> None:
    identity = ModelIdentity.of(name)
    place = Path(identity.folder("help_or_harm/response"))
    assert len(place.parts) == 4
    assert not set(place.parts) & {"..", ".", ""}
    assert all(len(part.encode(errors="replace")) <= 101 for part in place.parts)
    assert re.fullmatch(r"[^/]+/[^/]+(/.+)?", identity.ident, re.DOTALL)


def test_a_dialogue_has_its_turns(traced: Path, tmp_path: Path) -> None:
    files = shared(traced, tmp_path / "out")
    rows = [row for file in files for row in file.rows if row["metadata"]["criterion"] == "appropriateness"]
    by_turn = {row["metadata"]["turn"]: row for row in rows}
    assert sorted(by_turn) == ["1", "2"]
    for place, turn in ((2, "1"), (4, "2")):
        row = by_turn[turn]
        assert (row["interaction_type"], row["evaluation"]["num_turns"]) == ("multi_turn", 2)
        assert [message["role"] for message in row["messages"]] == ["system", *("user", "assistant") * 2]
        [attribution] = row["answer_attribution"]
        assert (attribution["turn_idx"], attribution["is_terminal"]) == (place, place == 4)


def test_the_same_run_has_the_same_files(run: Path, tmp_path: Path) -> None:
    first, second = (shared(run, tmp_path / name) for name in ("a", "b"))
    assert first == second


def test_closed_answers_are_right_or_wrong_by_the_authors_labels(small: Copy, tmp_path: Path) -> None:
    mindgauge.load("help_or_harm", data=small.root, out=tmp_path / "loaded")
    files = shared(tmp_path / "loaded", tmp_path / "out")
    closed = [file for file in files if file.figures["evaluation_id"].startswith("help_or_harm/crisis_type")]
    assert closed
    for file in closed:
        assert {row["metadata"]["rater"] for row in file.rows if row["metadata"]["rater_kind"] == "model"} == {
            file.figures["model_info"]["name"]
        }
        assert all("llm_scoring" not in result["metric_config"] for result in file.figures["evaluation_results"])
        configs = {
            config["metric_kind"]: config for r in file.figures["evaluation_results"] for config in [r["metric_config"]]
        }
        limits = {
            kind: (configs[kind]["min_score"], configs[kind]["max_score"])
            for kind in ("cohen_kappa", "macro_f1", "accuracy")
        }
        assert limits == {"cohen_kappa": (-1.0, 1.0), "macro_f1": (0.0, 1.0), "accuracy": (0.0, 1.0)}
        references = [row for row in file.rows if row["input"]["reference"]]
        assert references
        assert all(
            row["evaluation"]["is_correct"] == (row["metadata"].get("level") == row["input"]["reference"][0])
            for row in references
        )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": "csv", "organisation": "A lab"}, "--to csv"),
        ({"to": "eee", "organisation": " "}, "give a name, or leave it out"),
        ({"to": "eee", "relationship": "friends"}, "first_party, third_party, collaborative, other"),
        ({"to": "eee", "dataset": "a/b"}, "--to eee"),
        ({"to": "hub", "licence": "MIT", "dataset": "no dataset"}, "OWNER/NAME"),
    ],
)
def test_options_that_make_no_sense_are_refused(run: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        mindgauge.export(run, **options)
