"""Secrets that nobody told us of, as people and programs write them down; and what only looks like one."""

from __future__ import annotations

import functools
import random
import shlex
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.cli import main
from mindgauge.records.redaction import HIDDEN, redacted, redacted_command, redactor
from tests.attacks.forms import FORMS, HARD, INNOCENT, WORD
from tests.thinned import sampled

if TYPE_CHECKING:
    from tests.stub import Stub


@pytest.mark.parametrize("name", FORMS)
def test_a_secret_is_hidden_and_what_stands_around_it_is_not(name: str) -> None:
    form = FORMS[name]
    shown = redacted(form.text)
    assert HIDDEN in shown
    assert not [secret for secret in form.secrets if secret in shown], shown
    assert form.kept in shown, shown
    assert redacted(shown) == shown


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redacted(text) == text
    assert redacted_command(shlex.split(text.replace("'", ""))) == redacted(
        shlex.join(shlex.split(text.replace("'", "")))
    )


def test_no_document_of_ours_holds_anything_that_is_hidden() -> None:
    """Prose, prompts, rubrics and commands; of an address with a user name, the user is hidden."""
    root = Path(mindgauge.__file__).parent
    changed: dict[str, str] = {}
    clean = functools.cache(redactor())  # many lines stand in several documents
    for path in sorted([*root.rglob("*.md"), *root.rglob("*.toml"), *(root.parents[1] / "docs").rglob("*.md")]):
        lines = path.read_text(encoding="utf-8").splitlines()
        cleaned = enumerate(map(clean, lines), 1)
        changed |= {f"{path.name}:{n}": line for n, line in cleaned if line != lines[n - 1]}
    assert not {where: line for where, line in changed.items() if "@" not in line}, changed


@pytest.mark.parametrize("quote", ["'", '"', " ", "'\"' ", "\\"])
def test_words_of_a_command_end_where_the_shell_said(quote: str) -> None:
    for hard in HARD:
        secret = f"{hard}{quote}{WORD}"
        words = ["mindgauge", f"--database=postgresql://me:{secret}@db/x", f"postgresql://me:{secret}@db/x", "--api-key", secret,
                 f"host=db password={secret}" if not set(quote) & set("' \\") else "host=db", f"--token={secret}", "--limit", "2"]  # fmt: skip
        shown = redacted_command(words)
        assert WORD not in shown, shown
        assert hard not in shown.replace("%2F", "%"), shown
        assert shown.endswith("--limit 2")


@pytest.mark.parametrize("hard", sampled(HARD, 3))
def test_a_manifest_keeps_no_password(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hard: str
) -> None:
    """Whatever the verb, and whether the command line or a notebook calls it."""
    secret = f"{hard}{WORD}"
    command = f"mindgauge load help_or_harm --note 'postgresql://me:{secret}@db.example.org/labels' --token {secret}"
    mindgauge.run("help_or_harm/crisis_type", model=stub.model, out=tmp_path / "run", limit=1, command=command)
    words = ["mindgauge", "run", "help_or_harm/crisis_type", "--model", stub.model.replace("//", f"//me:{secret}@")]
    monkeypatch.setattr(sys, "argv", [*words, "--limit", "1", "--out", str(tmp_path / "typed")])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode(errors="replace")
    assert WORD not in files + said.out + said.err
    shown = tomllib.loads((tmp_path / "run" / "manifest.toml").read_text())["command"]
    assert shown == f"mindgauge load help_or_harm --note 'postgresql://{HIDDEN}@db.example.org/labels' --token {HIDDEN}"


def test_passwords_of_proxies_and_databases_are_known_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{WORD}@proxy.example.org:3128")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:grey/heron%2Fnest@db.example.org/labels")
    shown = redacted(f"the proxy refused {WORD}, the server grey/heron/nest and grey/heron%2Fnest")
    assert shown == f"the proxy refused {HIDDEN}, the server {HIDDEN} and {HIDDEN}"


@pytest.mark.parametrize(
    "piece", ["a", "://", "u:p@", "password=", "key='", '"', "'\"'\"'", "\\", "-----BEGIN PRIVATE KEY-----", "eyJ", "x:1:y:z:", "a=", "login x "]
)  # fmt: skip
def test_looking_for_forms_is_linear(piece: str) -> None:
    def seconds(count: int) -> float:
        text, began = piece * count, time.process_time()
        redacted(text)
        return time.process_time() - began

    seconds(200)
    short, long = (min(seconds(count) for _ in range(2)) for count in (1_000, 4_000))
    assert long < 4 * 4 * short + 0.05


def test_forms_beside_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, names = random.Random(3), sorted(FORMS)
    for _ in range(300):
        one, other = (FORMS[draw.choice(names)] for _ in range(2))
        shown = redacted(f"{one.text}\n{other.text}\n")
        assert not [secret for secret in (*one.secrets, *other.secrets) if secret in shown], shown
