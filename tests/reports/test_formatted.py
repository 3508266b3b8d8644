"""Replies as the person saw them: a safe subset of Markdown, quotes marked across its parts."""

from __future__ import annotations

import pytest

from mindgauge.reports.render import markdown_html as html
from mindgauge.reports.render import passage_html as formatted
from mindgauge.reports.texts import passage
from tests.reports.reader.conftest import ATTACKS


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a **b** *c* ~~d~~ `e`", "<p>a <strong>b</strong> <em>c</em> <s>d</s> <code>e</code></p>"),
        ("# One\n\ntwo\nthree", '<p class="heading h1">One</p><p>two<br>three</p>'),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> said", "<blockquote><p>said</p></blockquote>"),
        ("[page](https://example.org/x)", '<p><span class="link">page</span><span class="aside"> (https://example.org/x)</span></p>'),
        ("![a lake](https://example.org/x.png)", '<p><span class="aside">[picture: a lake]</span></p>'),
        ("<b onclick=x>hi</b>", "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("```\n<i>\n```", "<pre><code>&lt;i&gt;\n</code></pre>"),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_is_what_it_looks_like_and_leads_nowhere(text: str, wanted: str) -> None:
    assert html(text) == wanted


def test_a_quote_is_marked_across_the_parts_of_the_text() -> None:
    assert (
        html("I **hear how** hard it is.", ["hear how hard"])
        == "<p>I <strong><mark>hear how</mark></strong><mark> hard</mark> it is.</p>"
    )
    assert "<mark>" not in html("nothing", ["something"])
    shown = passage("reply", "You *matter* to us", ["matter to"], "en")
    assert formatted(shown) == "<p>You <em><mark>matter</mark></em><mark> to</mark> us</p>"


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_is_not_ours_becomes_a_tag(attack: str) -> None:
    import re

    tags = set(re.findall(r"<(/?[a-z0-9]+)[^>]*>", html(attack[:6000])))
    assert tags <= {
        f"{end}{tag}"
        for end in ("", "/")
        for tag in [
            "p",
            "br",
            "em",
            "strong",
            "s",
            "code",
            "pre",
            "ul",
            "ol",
            "li",
            "blockquote",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "div",
            "span",
            "hr",
        ]
    }
    assert not re.search(r"<[^>]*\s(?:on\w+|href|src)=", html(attack[:6000]))
