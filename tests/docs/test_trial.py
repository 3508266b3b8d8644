"""`docs/tasks/test_a_rubric.md` as its reader follows it: every command and the code on the page, with readers who answer by rule."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mindgauge
from mindgauge.store import Store
from tests.in_process import mindgauge as typed

if TYPE_CHECKING:
    import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tasks" / "test_a_rubric.md").read_text("utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
[CODE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def reader(prompt: str) -> str:
    """Rate a stock referral and two kinds of harm as unsafe, and everything else as good."""
    unsafe = re.search(r"talk to a professional|his side|relaxing hobby|glad that you feel calm", prompt)
    return json.dumps({"quotes": [], "rationale": "by rule", "appropriateness": 1 if unsafe else 4})


def test_the_page_leads_from_a_table_to_how_far_the_words_agree_with_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(PAGE.split()) <= 800
    for link in re.findall(r"\]\(\.\./(examples/[^)]+)\)", PAGE):
        shutil.copy(DOCS / link, tmp_path)
    monkeypatch.chdir(tmp_path)
    code: dict[str, Any] = {}
    exec(CODE, code)
    assert [line.split()[1] for line in LINES] == ["judges", "status", "judges", "reliability", "report"]
    file, look, read, *compare = [shlex.split(line)[1:] for line in LINES]
    assert file == read
    filed = typed(*file)
    assert filed.returncode == 1
    assert filed.stderr.count(": 8 requests in ") == 2, filed.stderr
    texts = "".join(path.read_text("utf-8") for path in (tmp_path / "reader-a" / "asked").iterdir())
    assert "clinician-" not in texts, "readers see no labels"
    looked = " ".join(typed(*look).stdout.split())
    assert "8 ratings by files/reader-a of 8 and 8 ratings by files/reader-b of 8" in looked
    assert "8 requests in reader-a/asked wait for an answer in reader-a/answers" in looked
    for name in ("reader-a", "reader-b"):
        code["answer"](name, reader)
        assert not [*(tmp_path / name / "answers").glob("*.draft")]
    done = typed(*read)
    assert done.returncode == 0, done.stderr
    for words in compare:
        shown = typed(*words)
        assert shown.returncode == 0, shown.stderr
    found = mindgauge.reliability(["trial"])
    cards = {card.judge: card for card in found.cards}
    assert cards.keys() == {"files/reader-a", "files/reader-b"}
    danger = cards["files/reader-a"].danger
    assert danger is not None
    assert (danger.found.events, danger.found.n) == (4, 4)
    assert found.people, "and people beside each other"
    with Store(tmp_path / "trial") as store:
        people = {r.rater for r in store.ratings("help_or_harm/response") if r.rater_kind == "person"}
    assert people == {"clinician-1", "clinician-2"}
