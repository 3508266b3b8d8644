"""Regular expressions that functions build from words which they are given, each with words of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.mentalbench import released as mentalbench
from mindgauge.benchmarks.vera_mh import released as vera_mh
from mindgauge.models import family
from mindgauge.raters import plain, risk_cues
from mindgauge.records.redaction.personal import RULES, _as_words
from mindgauge.records.transcripts import labelled
from mindgauge.records.transcripts.reading import NamePattern
from mindgauge.reports.language import memory, translator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WORD = "the bot"


BUILT: dict[str, Callable[[], Iterable[re.Pattern[Any]]]] = {
    "analysis.gate.policy:_line": lambda: [re.compile(rf"""\s*["']?{WORD}["']?\s*[=.]""")],
    "benchmarks.help_or_harm.released:": list,  # of names of 255 characters, see `test_names_of_files_have_a_length`
    "benchmarks.mentalbench.released:judge": lambda: map(re.compile, mentalbench._JUDGES.values()),
    "benchmarks.own_folder:_Settings._first": lambda: [re.compile(rf"""(?i).*\bname\s*=\s*["']{WORD}["']"""), re.compile(rf"""\s*["']?{WORD}["']?\s*=""")],
    "benchmarks.persons.client:_cues": list,  # of sentences of 400 characters: the reader `reply_signs`
    "benchmarks.persons.client:_spellings": list,  # whole words
    "benchmarks.vera_mh.released:": vera_mh._PATTERNS.values,
    "commands.load:_released": lambda: [re.compile(rf"(?<![\w./-]){WORD}(?=[/:])")],
    "models.family:": family._FAMILIES.values,
    "raters.json_objects:after_thinking": lambda: [re.compile("</think>", re.IGNORECASE)],
    "raters.plain:_pattern": lambda: [plain._pattern(("1", "not at all", "很好"))],
    "raters.plain:_patterns": lambda: plain._patterns((WORD, "score")),
    "raters.risk_cues:_words": lambda: [*risk_cues._words()],
    "raters.rule:open_rule": list,  # a user's own
    "raters.user_instrument:UserInstrument.need_keys": lambda: [re.compile(rf"(?<!\w){WORD}(?!\w)")],
    "records.ratings.raters:_as_written": lambda: [re.compile(r"the[\s_\-.()\[\]]+bot")],
    "records.redaction.echoes:without": lambda: [re.compile(rf"(?<!\w){WORD}(?!\w)")],
    "records.redaction.named:_header": lambda: [re.compile(r"[^\r\n'\\]+"), re.compile(r"[^\s'\"\\<>]+")],
    "records.redaction.personal:": lambda: [rule[1] for rule in RULES],
    "records.redaction.personal:_as_words": lambda: _as_words({WORD, "li", "王"}),
    "records.regex:_Uncompiled.__getattr__": list,  # those that `regex` is handed
    "records.short_names:shortened": lambda: [re.compile(rf"(?:{WORD}|b)(?![\w-])")],
    "records.transcripts.reading:NamePattern.__init__": lambda: [NamePattern("{model}_{tag.a}_*")._pattern, NamePattern("*_{run}_*")._pattern],
    "records.transcripts.labelled:_label": lambda: [labelled._label(frozenset()), labelled._label(frozenset({WORD}))],
    "reports.language.memory:_forms": lambda: [memory._forms()[0]],
    "reports.language.spoken:TermLinks.__init__": lambda: [re.compile("the bot|bot")],
    "reports.language.memory:parsed": list,  # English of ours, by words of ours
    "reports.language.translator:": translator._CUT.values,
    "runs.as_published:_among": lambda: [re.compile(rf"(?:.*[/#:])?{WORD}(?:-\d{{4}}(?:-\d\d-\d\d)?)?(?: \(.*\))?", re.DOTALL)],
}  # fmt: skip
"""Module and function → its expressions."""
ANCHORED = {
    "analysis.gate.policy:_line", "benchmarks.mentalbench.released:judge", "benchmarks.vera_mh.released:", "benchmarks.own_folder:_Settings._first",
    "raters.plain:_patterns", "records.redaction.named:_header", "records.transcripts.reading:NamePattern.__init__",
    "runs.as_published:_among",
}  # fmt: skip
"""Those that are tried at one place of a text."""
