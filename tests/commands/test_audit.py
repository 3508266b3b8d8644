from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from click.testing import CliRunner

from mindgauge.cli import app
from mindgauge.commands.audit import audit
from mindgauge.commands.load import papers_load
from mindgauge.records.errors import DataError, UsageError
from tests.analysis.audit.clean import change_values, clean, labelled
from tests.benchmarks.help_or_harm.conftest import Copy, real, small  # fixtures

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.commands.audit import Audit

__all__ = ["real", "small"]
LONG = ["subject", "criterion", "rater", "rater_kind", "value", "system", "cluster"]


@pytest.fixture
def table() -> pl.DataFrame:
    return clean().ratings.select(LONG)


def found(result: Audit) -> dict[str, int]:
    return {finding.id: finding.count for finding in result.findings}


def faulty(table: pl.DataFrame) -> pl.DataFrame:
    here = pl.int_range(pl.len()).is_in([3, 30, 300])
    return table.with_columns(value=pl.when(here).then(pl.lit("0")).otherwise("value"))


def test_clean_ratings_have_no_finding_in_any_format(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "a.csv")
    table.write_ndjson(tmp_path / "a.jsonl")
    table.with_columns(pl.col("value").cast(pl.Int64)).write_parquet(tmp_path / "a.parquet")
    table.write_csv(tmp_path / "a.tsv", separator="\t")
    for source in (*sorted(tmp_path.iterdir()), table, table.to_arrow()):
        result = audit(source, scale="1:5")
        assert result.findings == []
        assert (result.texts, result.ratings) == (0, table.height)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_faults_are_found_where_they_stand(table: pl.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ratings.{suffix}"
    bad = faulty(table)
    getattr(bad, {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[suffix])(path)
    result = audit(path, scale={"safety": "1:5", "empathy": "1:5", "guidance": "1:5"})
    (finding,) = result.findings
    assert (finding.id, finding.severity, finding.count) == ("out_of_scale", "error", 3)
    assert finding.where == [f"{path.name}:{row}" for row in (3, 30, 300)]
    assert result.counts == {"error": 1, "warning": 0, "note": 0}


def test_without_a_scale_a_likert_scale_is_taken_and_said(table: pl.DataFrame) -> None:
    (finding,) = audit(faulty(table)).findings
    assert (finding.id, finding.severity, finding.count) == ("out_of_scale", "warning", 3)
    assert "--scale" in finding.message


def test_numbers_written_as_text_are_told_in_json_lines(table: pl.DataFrame, tmp_path: Path) -> None:
    rows = table.with_columns(pl.col("value").cast(pl.Int64)).to_dicts()
    rows[5]["value"] = str(rows[5]["value"])
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert found(audit(path, scale="1:5")) == {"mixed_types": 1}


def test_several_files_are_audited_together(table: pl.DataFrame, tmp_path: Path) -> None:
    people = pl.col("rater_kind") == "person"
    table.filter(people).write_csv(tmp_path / "people.csv")
    table.filter(~people).drop("rater_kind").write_csv(tmp_path / "judges.csv")
    assert audit([tmp_path / "people.csv", tmp_path / "judges.csv"], scale="1:5").findings == []
    table.filter(people).write_csv(tmp_path / "people again.csv")
    twice = audit([tmp_path / "people.csv", tmp_path / "people again.csv"], scale="1:5")
    assert found(twice)["duplicate_ratings"] == table.filter(people).height


def test_texts_in_a_ratings_file_are_looked_at(table: pl.DataFrame) -> None:
    texts = table.with_columns(
        reply="A reply to " + pl.col("subject"), explanation="So it is with " + pl.col("subject")
    )
    empty = texts.with_columns(reply=pl.when(pl.col("subject") == "c4/beta").then(pl.lit("nan")).otherwise("reply"))
    assert audit(texts, scale="1:5").findings == []
    assert found(audit(empty, scale="1:5")) == {"empty_replies_rated": 1}


def test_options_serve_as_a_scale() -> None:
    table = labelled().ratings.select("subject", "criterion", "rater", "rater_kind", "value")
    table = table.with_columns(value=pl.when(pl.int_range(pl.len()) == 9).then(pl.lit("E")).otherwise("value"))
    assert found(audit(table, scale="A,B,C,D")) == {"impossible_values": 1}


def test_a_folder_of_anything(tmp_path: Path) -> None:
    texts = clean().texts.filter(pl.col("kind") == "input").select("id", "text")
    texts.head(80).write_csv(tmp_path / "train.csv")
    texts.tail(45).write_csv(tmp_path / "test.csv")
    result = audit(tmp_path)
    assert found(result) == {"duplicates_across_splits": 5}
    assert result.texts == 125
    assert "</table>" in result._repr_html_()
    assert result.table["count"].to_list() == [5]


def test_a_run_directory(small: Copy, tmp_path: Path) -> None:
    papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    result = audit(tmp_path / "run")
    assert {finding.subject for finding in result.findings} <= {
        "run: help_or_harm/crisis_type",
        "run: help_or_harm/response",
    }
    assert result.texts == 10 + 6 + 54
    assert result.ratings > 0


def test_a_benchmark_with_its_data(small: Copy) -> None:
    result = audit("help_or_harm", data=small.root)
    assert {finding.subject for finding in result.findings} == {"help_or_harm/crisis_type", "help_or_harm/response"}
    assert audit("help_or_harm/response", data=str(small.data)).ratings < result.ratings


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("mentalbench", {}, "audit mentalbench: say where the authors' files are, --data DIR"),
        ("no such thing", {}, "no such thing: no such file, folder or benchmark"),
        ("mentalbenhc", {"data": "."}, "did you mean mentalbench?"),
        (["a.csv", "b.csv"], {"data": "."}, "--data goes with the name of one benchmark"),
        ("a.csv", {"scale": "five"}, "--scale 'five': write LOW:HIGH, for example 1:5"),
        ("a.csv", {"scale": "5:1"}, "--scale '5:1': write LOW:HIGH"),
        ("a.csv", {"scale": {"warmth": "1:5"}}, "--scale warmth: no such criterion; there are empathy"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(source: Any, options: dict[str, Any], said: str, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    table.write_csv("a.csv")
    with pytest.raises(UsageError) as error:
        audit(source, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "subject,rater,value\n1,a,2\n", "a.csv: no column criterion; a ratings file has subject, criterion"),
        ("a.csv", "subject,criterion,rater,value\n", "a.csv: no ratings in it (0 rows)"),
        ("a.csv", "", "a.csv: no table of texts or ratings here; a.csv: no rows"),
        ("a.jsonl", '{"subject": 1, "criterion": "x", "rater": "a", "value": 3}\n{"subject"', "a.jsonl:2: broken JSON"),
        ("a.jsonl", '{"subject": 1, "criterion": "x", "rater": "a", "value": 3}\n[1]', "a.jsonl:2: expected an object"),
        ("a.parquet", "PAR1", "a.parquet: no table of texts or ratings here"),
        ("a.docx", "words", "a.docx: not a table or text, not read"),
        ("a.zip", "no zip", "a.zip: not a readable zip"),
    ],
)
def test_unusable_files_are_one_line(name: str, content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError) as error:
        audit(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_bytes_that_are_not_utf_8_are_a_finding_not_an_error(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    content = table.with_columns(reply=pl.lit("a café by the river")).write_csv()
    path.write_bytes(content.encode("latin-1"))
    assert found(audit(path, scale="1:5"))["replacement_characters"] == 1


def test_packed_files_are_audited_like_others(small: Copy, tmp_path: Path) -> None:
    plain = audit("help_or_harm", data=small.root)
    shutil.make_archive(str(tmp_path / "packed/data"), "zip", small.data)
    packed = audit("help_or_harm", data=tmp_path / "packed")
    assert found(packed) == found(plain)
    assert packed.texts > 0


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["audit", *arguments], standalone_mode=False)
    return result.return_value or 0, result.output


def test_the_command_prints_findings_and_their_sum(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    faulty(table).write_csv(path)
    code, output = invoke(str(path), "--scale", "1:5")
    assert code == 0
    assert "out_of_scale" in output
    assert output.startswith("1 error; looked at 0 texts and 4,320 ratings.\nError: 3 values off the scale")
    table.write_csv(path)
    assert invoke(str(path), "--scale", "1:5") == (0, "Nothing found; looked at 0 texts and 4,320 ratings.\n\n")


def test_the_json_is_as_documented(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    faulty(table).write_csv(path)
    code, output = invoke(str(path), "--scale", "1:5", "--json")
    content = json.loads(output)
    assert code == 0
    assert content.keys() == {"findings", "source", "texts", "ratings", "counts", "claims"}
    (finding,) = content["findings"]
    assert finding.keys() == {"id", "severity", "count", "where", "effect", "message", "subject"}
    assert finding["severity"] == "error"


def test_a_build_can_be_made_to_fail(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    faulty(table).write_csv(path)
    assert [invoke(str(path), "--fail-on", level, "--scale", "1:5")[0] for level in ("error", "warning")] == [1, 1]
    assert [invoke(str(path), "--fail-on", level)[0] for level in ("error", "warning")] == [0, 1], (
        "a guessed scale warns"
    )
    refused = CliRunner().invoke(app, ["audit", str(path), "--fail-on", "note"])
    assert refused.exit_code == 2 and "'error', 'warning'" in refused.output


def test_the_worst_comes_first(tmp_path: Path) -> None:
    material = change_values(clean(), pl.col("rater") == "H1", pl.lit("5"))
    material = change_values(material, (pl.col("rater") == "one") & (pl.col("row") == 3), pl.lit("0"))
    severities = [finding.severity for finding in audit(material.ratings.select(LONG), scale="1:5").findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert {"error", "warning"} <= set(severities)
