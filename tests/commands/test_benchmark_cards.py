"""Cards of the public schema BenchmarkCards: every benchmark has one that fits, and one of others starts a folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks.card import (
    NOT_SPECIFIED,
    SECTIONS,
    BenchmarkCard,
    PublicCard,
    as_json,
    as_settings,
    read_public,
)
from mindgauge.records.errors import DataError, UsageError
from tests.in_process import mindgauge as typed

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = jsonschema.Draft202012Validator(
    json.loads(Path(__file__).with_name("benchmarkcard.schema.json").read_text("utf-8"))
)
ATLAS = {
    "Accuracy": {"Poor model accuracy"},
    "Fairness": {"Output bias", "Decision bias"},
    "Intellectual Property": {"Copyright infringement", "Revealing confidential information"},
    "Multi-category": {"Jailbreaking", "Prompt priming"},
    "Privacy": {"Exposing personal information"},
    "Value Alignment": {"Incomplete advice", "Harmful code generation", "Over- or under-reliance", "Toxic output", "Harmful output"},
}  # fmt: skip
"""Names of IBM's AI Risk Atlas, as far as they are about what models put out."""
PUBLIC: dict[str, Any] = {
    "benchmark_details": {
        "is_benchmark": True,
        "name": 'Night "Talks"',
        "abbreviation": "N/A",
        "overview": "Short exchanges at night between a volunteer and a chatbot.",
        "data_type": "text",
        "domains": ["mental health"],
        "languages": ["Welsh", "English"],
        "similar_benchmarks": [],
        "resources": ["https://example.org/nights", "a booklet"],
    },
    "purpose_and_intended_users": {
        "goal": "To see whether a chatbot lets a person sleep.",
        "audience": "researchers",
        "tasks": ["open replies"],
        "limitations": "No outcome is known.",
        "out_of_scope_uses": None,
    },
    "data": {"source": "Volunteers wrote it.", "size": 120, "format": "N/A", "annotation": "Two nurses rated each.\n"},
    "methodology": {"methods": [], "metrics": ["mean"], "baseline_results": None},
    "targeted_risks": {
        "risk_categories": ["Safety"],
        "atlas_risks": {"risks": [{"category": "Value Alignment", "subcategory": ["Harmful output"]}]},
        "demographic_analysis": "N/A",
        "harm": "sleeplessness",
    },
    "ethical_and_legal_considerations": {"data_licensing": "CC BY 4.0", "consent_procedures": "Not Applicable"},
}
"""A card in the form of the public ones, in our own words: fields are missing, null, or a text in the place of a list."""


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All benchmarks' cards as they are written, by name."""
    out = tmp_path_factory.mktemp("cards") / "all"
    listing = mindgauge.list(to="benchmarkcard", out=out)
    written = [Path(file) for file in listing.written]
    assert {path.suffix for path in written} == {".json", ".md"}
    assert all(path.is_file() for path in written)
    return {
        path.relative_to(out).with_suffix("").as_posix(): json.loads(path.read_text("utf-8"))
        for path in written
        if path.suffix == ".json"
    }


def fields(card: dict[str, Any]) -> dict[str, Any]:
    return {name: value for section in SECTIONS for name, value in card[section].items()}


def test_every_benchmark_has_a_card_that_fits_the_schema(cards: dict[str, dict[str, Any]]) -> None:
    assert sorted(cards) == benchmarks.names()
    for name, card in cards.items():
        SCHEMA.validate(card)
        filled = fields(card)
        for field in ("goal", "limitations", "source", "size", "metrics", "risk_categories", "data_licensing"):
            assert filled[field] not in (NOT_SPECIFIED, [NOT_SPECIFIED]), (name, field)


def test_the_schema_refuses_a_field_that_is_empty_missing_or_unknown(cards: dict[str, dict[str, Any]]) -> None:
    card = cards["psycrisis"]
    for changed in ({"source": ""}, {"source": ["a"]}, {"origin": "a"}):
        assert list(SCHEMA.iter_errors({**card, "data": card["data"] | changed})), changed
    assert list(SCHEMA.iter_errors({name: part for name, part in card.items() if name != "data"}))


def test_the_fields_are_those_of_the_schema() -> None:
    properties = SCHEMA.schema["properties"]
    assert {name: [*part["properties"]] for name, part in properties.items()} == {
        name: ["is_benchmark", *names] if name == "benchmark_details" else [*names] for name, names in SECTIONS.items()
    }
    assert [*PublicCard.__struct_fields__] == [name for names in SECTIONS.values() for name in names]


def test_risks_have_names_of_the_atlas(cards: dict[str, dict[str, Any]]) -> None:
    for name, card in cards.items():
        for risk in card["targeted_risks"]["atlas_risks"]["risks"]:
            assert {*risk["subcategory"]} <= ATLAS[risk["category"]], name


def test_what_no_source_says_of_consent_and_law_is_not_specified(cards: dict[str, dict[str, Any]]) -> None:
    law = {name: fields(card)["compliance_with_regulations"] for name, card in cards.items()}
    assert {name for name, text in law.items() if text != NOT_SPECIFIED} == {"vera_mh"}
    consent = {name: fields(card)["consent_procedures"] for name, card in cards.items()}
    assert {name for name, text in consent.items() if text != NOT_SPECIFIED} == {
        "psycrisis",
        "vera_mh",
        "conversations/risk",
        "conversations/dependence",
        "conversations/delusion",
    }
    assert consent["psycrisis"].startswith("The authors state that no live participants took part.")
    assert consent["psycrisis"].endswith("is not stated.")


def test_published_numbers_are_those_of_the_benchmark_itself(cards: dict[str, dict[str, Any]]) -> None:
    knowledge = fields(cards["trustmh/knowledge"])
    assert "Reliability: Knowledge: GPT-5.1 1, 4o-mini 6," in knowledge["baseline_results"]
    assert "Emotion" not in knowledge["baseline_results"]
    assert "https://github.com/Qiyuan0130/TrustMH_Bench" in knowledge["resources"]
    assert "BERT-base: accuracy 70.3, accuracy_sd 1.2" in fields(cards["dialogue_safety"])["baseline_results"]
    validation = fields(cards["help_or_harm/response"])["validation"]
    assert "H1-H2: mae 0.4632, rmse 0.795, within_1 95.26." in validation
    assert " nan" not in validation


def test_the_page_has_every_field(tmp_path: Path) -> None:
    done = typed("list", "psycrisis", "--to", "benchmarkcard", "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1 benchmark card, each as JSON and Markdown:",
        "  out/psycrisis.json",
        "  out/psycrisis.md",
    ]
    page = (tmp_path / "out" / "psycrisis.md").read_text("utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Benchmark Details", "## Purpose and Intended Users", "## Data", "## Methodology", "## Targeted Risks",
        "## Ethical and Legal Considerations",
    ]  # fmt: skip
    assert page.count("\n- **") == len(PublicCard.__struct_fields__)
    assert "- **Atlas Risks:**\n  - Value Alignment: Harmful output\n" in page
    assert "- **Compliance with Regulations:** Not specified\n" in page


def test_a_family_is_written_whole_and_over_an_earlier_export_only(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        listing = mindgauge.list("help_or_harm", to="benchmarkcard", out=out)
        assert [Path(file).name for file in listing.written if file.endswith(".md")] == [
            "crisis_type.md",
            "response.md",
        ]
    (out / "mine.txt").write_text("a", "utf-8")
    with pytest.raises(UsageError, match=r"mine\.txt"):
        mindgauge.list("help_or_harm", to="benchmarkcard", out=out)


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--to", "card"], "--to card: write benchmarkcard"), (["--out", "a"], "--out is the folder for --to")],
)
def test_options_that_make_no_sense_are_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = typed("list", "psycrisis", *options, folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not [*tmp_path.iterdir()]


# -- a card of others ----------------------------------------------------------------------------------------------------


def started(content: Any, folder: Path) -> dict[str, Any]:
    """Start a benchmark from a card, and return the card that it then has."""
    (folder / "card.json").write_text(json.dumps(content), "utf-8")
    done = typed("new", "nights", "--from", "card.json", folder=folder)
    assert done.returncode == 0, done.stderr
    done = typed("list", "./nights", "--to", "benchmarkcard", "--out", "back", folder=folder)
    assert done.returncode == 0, done.stderr
    back: dict[str, Any] = json.loads((folder / "back" / "nights.json").read_text("utf-8"))
    SCHEMA.validate(back)
    return fields(back)


def test_a_public_card_starts_a_folder_and_comes_back(tmp_path: Path) -> None:
    back = started(PUBLIC, tmp_path)
    settings = tomllib.loads((tmp_path / "nights" / "card.toml").read_text("utf-8"))
    assert settings["title"] == 'Night "Talks"'
    assert settings["measures"] == "To see whether a chatbot lets a person sleep."
    assert settings["licence"] == "CC BY 4.0"
    assert settings["link"] == "https://example.org/nights"
    assert settings["closed"] is False
    kept = {name: value for section in SECTIONS for name, value in PUBLIC[section].items()}
    kept |= {"audience": ["researchers"], "size": "120", "annotation": "Two nurses rated each.", "harm": ["sleeplessness"]}  # fmt: skip
    for name, value in kept.items():
        if value not in ("N/A", None, []):
            assert back[name] == value, name
    for name in ("abbreviation", "format", "demographic_analysis", "privacy_and_anonymity", "baseline_results"):
        assert back[name] == NOT_SPECIFIED, name
    assert back["out_of_scope_uses"] == [NOT_SPECIFIED]


def test_the_folder_runs_and_says_what_the_card_does_not_bring(tmp_path: Path) -> None:
    started(PUBLIC, tmp_path)
    shown = typed("list", "./nights", folder=tmp_path).stdout
    assert "No outcome is known." in shown
    assert "its rubric is a placeholder" in shown
    (tmp_path / "again.json").write_text(json.dumps({**PUBLIC, "provenance": {}}), "utf-8")
    done = typed("new", "again", "--from", "again.json", folder=tmp_path)
    assert "the card has no messages" in done.stdout
    assert "not kept of the card: provenance" in done.stdout


def test_a_card_of_ours_comes_back_as_it_was(cards: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    assert started(cards["vera_mh"], tmp_path) == fields(cards["vera_mh"])


def test_a_card_in_a_wrapper_brings_the_risks_that_it_suggests(tmp_path: Path) -> None:
    risks = [{"category": "Toxic output", "description": "a"}]
    inner = {"benchmark_details": {"name": "a", "overview": "Not specified."}, "possible_risks": risks}
    back = started({"benchmark_card": inner}, tmp_path)
    assert back["atlas_risks"] == {"risks": [{"category": NOT_SPECIFIED, "subcategory": ["Toxic output"]}]}
    assert back["audience"] == [NOT_SPECIFIED]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"benchmark_details": {', "broken JSON"),
        ('{"benchmark_details": {"name": "N/A"}}', "this card has no name (benchmark_details.name)"),
        ('{"benchmark_details": {"name": "a"}, "data": []}', "data has to be an object with the fields source, size"),
        ('{"data": {"size": {"rows": 1}}}', "data.size has to be a text or a list of texts, found an object"),
        ('{"data": {"size": [["a"]]}}', "data.size has to be a text or a list of texts, found a list within a list"),
        ('{"targeted_risks": {"atlas_risks": ["a"]}}', "atlas_risks has to be a list of objects with category"),
        ('{"name": "a"}', "neither a table of messages nor a benchmark card"),
    ],
)
def test_a_broken_card_is_refused_in_one_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(content, "utf-8")
    done = typed("new", "nights", "--from", "card.json", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("mindgauge: card.json")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "nights").exists()


def test_a_card_has_no_columns(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(json.dumps(PUBLIC), "utf-8")
    with pytest.raises(UsageError, match="a benchmark card has no columns"):
        mindgauge.new(tmp_path / "nights", items=tmp_path / "card.json", columns={"user": "a"})


def test_a_table_of_messages_in_json_is_no_card(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps({"data": [{"user": "I cannot sleep."}]}), "utf-8")
    assert mindgauge.new(tmp_path / "nights", items=tmp_path / "rows.json").samples == 1


def test_a_field_of_ours_that_is_misspelled_is_refused(tmp_path: Path) -> None:
    started(PUBLIC, tmp_path)
    path = tmp_path / "nights" / "card.toml"
    path.write_text(path.read_text("utf-8").replace("\ndata_type = ", "\ndata_typ = "), "utf-8")
    done = typed("list", "./nights", folder=tmp_path)
    assert done.returncode != 0
    assert "data_typ" in done.stderr


TEXT = st.text(min_size=1, max_size=20).map(str.strip).filter(lambda text: text and text.casefold().removesuffix(".") not in {"", "n/a", "not specified", "not stated", "no information found"})  # fmt: skip
LIST: Callable[..., Any] = lambda: st.lists(TEXT, max_size=3).map(tuple)  # noqa: E731


@given(
    st.fixed_dictionaries(
        {"name": TEXT, "goal": TEXT},
        optional={"overview": TEXT, "resources": LIST(), "harm": LIST(), "atlas_risks": st.dictionaries(TEXT, LIST().filter(bool), max_size=2)},
    )
)  # fmt: skip
def test_any_text_survives_json_and_toml(stated: dict[str, Any]) -> None:
    card = PublicCard(**stated)
    content = json.loads(json.dumps(as_json(card)))
    read, unread = read_public(Path("card.json"), content)
    assert not unread
    expected = {name: tuple(dict.fromkeys(names)) for name, names in card.atlas_risks.items()}
    assert read == msgspec.structs.replace(card, atlas_risks=expected)
    ours = msgspec.convert(tomllib.loads(tomli_w.dumps(as_settings(read))), BenchmarkCard)
    assert ours.title == card.name
    assert (*filter(None, [ours.link]), *ours.benchmarkcard.resources) == card.resources
    assert ours.benchmarkcard.harm == card.harm


def test_a_card_that_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.json"):
        mindgauge.new(tmp_path / "nights", items=tmp_path / "nothing.json")
