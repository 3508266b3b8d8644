"""The words of a report: explained in a sentence each, linked where they stand first, and nowhere twice."""

import re

from mindgauge.reports.language import memory
from mindgauge.reports.page import ReportFiles


def test_every_term_has_one_sentence_and_no_form_belongs_to_two() -> None:
    forms = [form.casefold() for term in memory.terms() for form in term.forms]
    assert len(forms) == len(set(forms))
    for term in memory.terms():
        assert term.text.endswith(".")
        assert len(term.text) < 220


def test_a_term_is_linked_once_in_its_longest_form_and_what_stands_around_it_is_escaped() -> None:
    links = memory.Links()
    first = links("The entry test of <b>a judge</b>, and the entry test again.")
    assert str(first) == (
        'The <a class="term" href="#word-entry-test">entry test</a> of &lt;b&gt;a <a class="term" href="#word-judge">judge</a>'
        "&lt;/b&gt;, and the entry test again."
    )
    assert str(links("Another entry test; a judgement.")) == "Another entry test; a judgement."
    assert [term.term for term in links.used] == ["entry test", "judge"]


def test_links_of_a_page_lead_to_words_that_stand_there(page: str) -> None:
    targets = re.findall(r'class="term" href="#([^"]+)"', page)
    assert targets
    assert len(targets) == len(set(targets))
    assert sorted(targets) == sorted(re.findall(r'<dt id="(word-[^"]+)">', page))


def test_what_models_are_called_is_no_link_to_elsewhere(files: ReportFiles) -> None:
    page = files.path.read_text(encoding="utf-8")
    assert all(target.startswith("#word-") for target in re.findall(r'class="term" href="([^"]+)"', page))
