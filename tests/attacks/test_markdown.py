"""Text from outside in Markdown that we write: it reads as it was, is no markup, pings nobody and links nowhere."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import mindgauge
from mindgauge.benchmarks.registry import find_one
from mindgauge.records import text as markdown
from mindgauge.records.text import APART, visible
from mindgauge.reports.export import hub
from tests.conftest import obliging
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

HOSTILE = (
    "@octocat", "ask @octocat-x, @org/team or (@me)", "me@example.org", "org/model@main", "a/b@0123abc",
    "#12", "see #123 and org/repo#7, GH-12, gh-9", "www.example.org", "WWW.Example.org/x", "http://example.org/x", "https://h:8000/v1#m",
    "ftp://h/x", "mailto:me@example.org", "xmpp:a@b.org", "javascript://x", "e1c6d9e in deadbeef0 and 0123456789abcdef0123456789abcdef01234567",
    "<b>bold</b> <img src=x onerror=y> <!-- a --> <details>", "&#64;octocat &commat;octocat &lt;b&gt; &amp;", "[a](http://b.org)", "![a](b.png)",
    "[a]: http://b.org", "[^1]", "$x^2$ costs $5 and $$y$$", "``` mermaid", "~~~", "`code`", "**a** _b_ ~~c~~ __d__", "| a | b |", "---", "===", "- a", "+ a",
    "1. a", "2) a", "# a", "> a", "> [!NOTE]", "- [ ] a", ":tada: and :+1: at 10:30:45", "\\@octocat \\# \\", "a\n\n# b\r\n```\nc", "\u202e@x\u200b\u2066 y", "a\u2028# b",
    "gpt-4o-mini-2024-07-18", "meta-llama/Llama-3.1-8B-Instruct", "4 of 12 (33.3 %)",
)  # fmt: skip
ON_GITHUB = {
    "mention": r"(?:^|[^A-Za-z0-9_/])@[A-Za-z0-9]",
    "mail or commit": r"[\w.+-]@[\w-]",
    "issue": r"#\d",
    "issue in words": r"(?i)\bgh-\d",
    "address": r"(?i)\b[a-z][a-z0-9+.-]*://|\bwww\.",
    "commit": r"(?:^|[\s({\[@])[0-9a-f]{7,40}(?![\w-])",
    "picture": r":[\w+-]+:",
}
"""What GitHub makes something of in text that is parsed already."""


def rendered(source: str) -> tuple[str, set[str]]:
    """Return the text of a page, code left out, and the kinds of what it consists of."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    words: list[str] = []
    kinds: set[str] = set()
    for token in parser.parse(source):
        kinds.add(token.type)
        for child in token.children or ():
            kinds.add(f"{child.type}:{child.content}" if child.type == "html_inline" else child.type)
            words.append(
                child.content if child.type in {"text", "text_special"} else " " if child.type == "softbreak" else ""
            )
    return "".join(words), kinds


def found(source: str) -> list[str]:
    """Return what GitHub would make something of."""
    words = rendered(source)[0]
    return [kind for kind, pattern in ON_GITHUB.items() if re.search(pattern, words)]


def plain(text: str) -> str:
    return " ".join(visible(text).split())


USUAL = {
    "paragraph_open",
    "paragraph_close",
    "inline",
    "text",
    "text_special",
    "html_inline:<span>",
    "html_inline:</span>",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_stands_as_itself(text: str) -> None:
    for around in ("{}", "- {}\n", "> {}", "**{}.** x", "| a |\n|---|\n| {} |"):
        words, kinds = rendered(around.format(markdown.text(text)))
        assert plain(text) in words.replace(APART, "")
        assert not found(around.format(markdown.text(text))), words
        assert not {
            kind
            for kind in kinds
            if "link" in kind or "image" in kind or "code" in kind or "fence" in kind or "heading" in kind
        }
    words, kinds = rendered(markdown.text(text))
    assert kinds <= USUAL, kinds
    assert "$" not in markdown.text(text)
    assert rendered(markdown.code(text))[0] == "", "all of it is code"


@given(
    st.lists(st.sampled_from([*HOSTILE, " ", "\n", "`", "\\", "@", "#", "1", "a", ":", "/", ".", "-"]), max_size=6).map(
        "".join
    )
)
def test_any_text_stands_as_itself(text: str) -> None:
    source = markdown.text(text)
    words, kinds = rendered(source)
    assert words.replace(APART, "") == plain(text)
    assert kinds <= USUAL
    assert not found(source)


def test_names_and_replies_in_a_summary_ping_nobody(tmp_path: Path) -> None:
    """The model is called so, says so, and so do the files, the judge's reasons and the categories."""
    name = " ".join(HOSTILE[:24])
    rows = [
        {
            "user": f"I cannot sleep. {text}",
            "reply": f"I hear you. {text}",
            "model": name if n % 2 else text,
            "category": "anxiety_crisis",
        }
        for n, text in enumerate(HOSTILE[:12])
    ]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def hostile(body: dict[str, object], count: int) -> web.StreamResponse:
        answer = obliging(body, count)
        return answer if count % 4 else says(f"{name} {count}")

    with Stub(hostile) as stub:
        mindgauge.rate(
            "help_or_harm/response",
            replies=tmp_path / "replies.jsonl",
            judge=stub.model,
            out=tmp_path / "run",
            qualify=False,
            own_family=True,
        )
        written = mindgauge.report(tmp_path / "run", out=tmp_path / "a (b) @c.html", show_unreliable=True)
    source = written.markdown.read_text(encoding="utf-8")
    assert not found(source), [
        re.findall(f".{{0,30}}{ON_GITHUB[kind]}.{{0,30}}", rendered(source)[0]) for kind in found(source)
    ]
    assert "octocat" in source
    assert "$" not in source
    kinds = rendered(source)[1]
    assert {kind for kind in kinds if kind.startswith("html_")} <= {
        "html_block",
        "html_inline:<span>",
        "html_inline:</span>",
    }
    assert "[The whole report](<a%20%28b%29%20%40c.html>)" in source


def test_cards_say_names_as_they_are() -> None:
    benchmark = find_one("help_or_harm/response")
    source = hub.card(benchmark, {}, " ".join(HOSTILE), hub.CardFacts())
    body = source.split("\n---\n", 1)[1]
    link = benchmark.card.link
    assert not found(body.replace(f"<{link}>", ""))
    assert plain(" ".join(HOSTILE)) in rendered(body)[0].replace(APART, "")
    assert f"<{link}>" in body


@given(st.text())
@example("\x7f\x85\x9b\u2028\u2029\ufeff\ufffe\uffff\x00 # a: b")
def test_any_text_is_one_string_of_a_card_s_head(text: str) -> None:
    assert yaml.safe_load(f"name: {markdown.yaml(text)}\n") == {"name": text}
