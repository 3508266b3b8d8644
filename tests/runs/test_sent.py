"""What was really sent stands in the manifest, on the cards and in the report: judges at temperature 0, or without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.reports.page import write
from mindgauge.store import Store, manifest
from tests import in_process
from tests.conftest import obliging
from tests.stub import PROBED, Stub
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

OPEN = "help_or_harm/response"


@pytest.mark.parametrize(
    ("takes", "temperature", "words"),
    [
        later(True, (), "temperature 0.0"),
        (True, ("--judge-temperature", "0.7"), "temperature 0.7"),
        (False, (), "without temperature, which the server does not take"),
    ],
)
def test_the_judge_s_temperature_is_told_as_it_was_sent(
    tmp_path: Path, takes: bool, temperature: tuple[str, ...], words: str
) -> None:
    def answer(body: dict[str, Any], count: int) -> web.StreamResponse:
        if "temperature" in body and not takes:
            return web.json_response({"error": {"message": "Unsupported parameter: temperature"}}, status=400)
        return obliging(body, count)

    with Stub(answer) as stub:
        done = in_process.mindgauge(
            "run", OPEN, "--model", stub.model, "--judge", stub.judge, "--limit", 8, "--out", tmp_path, *temperature
        )
        assert done.returncode == 0, done.stderr
        judged = [body for body in stub.bodies if "response_format" in body]
        assert {body.get("temperature") for body in judged[-4:]} == {
            None if not takes else float(temperature[1]) if temperature else 0.0
        }
    noted = manifest.read(tmp_path)["sent"]
    assert ("temperature" in noted[stub.judge]["parameters"]) is takes
    assert noted[stub.judge]["without"] == ({} if takes else {"temperature": 8})
    assert noted[stub.model]["parameters"] == {"max_tokens": 4096}, "models under test are asked at their own default"
    with Store(tmp_path, write=True) as store:
        for rating in [rating for rating in store.ratings(OPEN) if rating.rater == stub.judge]:
            for person in ("p1", "p2"):
                store.add_rating(OPEN, Rating(rating.subject, rating.criterion, person, RaterKind.PERSON, 0, Status.OK, rating.value))  # fmt: skip
    (card,) = mindgauge.reliability(tmp_path).cards
    assert words in card.asked
    shown = in_process.mindgauge("reliability", tmp_path, "--full")
    assert f"asked with {card.asked}" in " ".join(shown.stdout.split())
    page = write([tmp_path], show_unreliable=True)
    html = page.path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert html.count(words) >= 2, "beside the cards, and among the settings of every model"
    assert words in json.dumps(json.loads(page.json.read_text(encoding="utf-8")))


@pytest.mark.parametrize("method", ["rule", later("chain")])
@pytest.mark.parametrize("limits", [(), ("--max-tokens", "300", "--judge-max-tokens", "700")], ids=["usual", "given"])
def test_the_longest_answer_is_told_as_it_was_sent(tmp_path: Path, method: str, limits: tuple[str, ...]) -> None:
    with Stub(obliging) as stub:
        for names in (["psycrisis", "--limit", 2], ["psycrisis", "--limit", 3]):
            done = in_process.mindgauge(
                "run", *names, "--model", stub.model, "--judge", stub.judge, "--method", method, "--qualify", "--anchors", 4,
                "--out", tmp_path, *limits,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        sent = {
            model: {body["max_tokens"] for body in stub.bodies if body["model"] == model} for model in ("stub", "judge")
        }
    noted = manifest.read(tmp_path)["sent"]
    judge = stub.judge if method == "rule" else f"{stub.judge} (chain)"
    for rater, values in ((stub.model, sent["stub"] - {PROBED}), (judge, sent["judge"] - {PROBED})):
        told = noted[rater]["parameters"]["max_tokens"]
        assert {*(told if isinstance(told, list) else [told])} == values
    page = write([tmp_path], show_unreliable=True)
    how = json.loads(page.json.read_text(encoding="utf-8"))["how"]
    assert f"at most {noted[stub.model]['parameters']['max_tokens']:,} tokens" in json.dumps(how["runs"])
    lines = [line for instrument in how["instruments"] for _, line in instrument["sent"]]
    assert lines and not any(word in line for line in lines for word in ("temperature", "room", "seed"))


def test_a_server_that_takes_no_limit_is_told_to_have_none(tmp_path: Path) -> None:
    def answer(body: dict[str, Any], count: int) -> web.StreamResponse:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in body:
                return web.json_response({"error": {"message": f"Unsupported parameter: {name}"}}, status=400)
        return obliging(body, count)

    with Stub(answer) as stub:
        mindgauge.run(OPEN, model=stub.model, limit=3, out=tmp_path)
        noted = manifest.read(tmp_path)["sent"][stub.model]
    assert (noted["parameters"], noted["without"]) == ({}, {"max_tokens": 3})
