"""Who rates, by the name: a person, a model, a gold label, or several people taken together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.records.text import compatible, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("gold", "person", "model", "classifier", "rule", "panel")
MOST_LEVELS = 12
"""More words than twice as many are classes, not levels."""
SYNONYMS = {
    "human": "person", "people": "person", "expert": "person", "clinician": "person", "annotator": "person",
    "llm": "model", "llm_judge": "model", "judge": "model", "ai": "model", "code": "rule",
}  # fmt: skip
"""Other words for a kind of rater."""
_PEOPLE = (
    r"humans?|persons?|people|experts?|raters?|annotators?|coders?|clinicians?|reviewers?|assessors?|scorers?|label+ers?|"
    r"psycholog\w*|psychiatr\w*|therapists?|counsel+ors?|doctors?|nurses?|students?|workers?|crowd\w*|panel|adjudicat\w*|"
    r"consensus|majority|gutachter\w*|评分者|标注者|标注员|专家|医生|咨询师"
)
_PERSON = re.compile(rf"(?i)^(?:(?:{_PEOPLE})[ _.\-]?\w{{0,3}}|[hraec][ _.\-]?\d{{1,2}})$")
_SYSTEM = re.compile(
    r"(?i)^(?:(?:model|system|(?:chat)?bot|assistant|agent)[ _.\-]?(?:[a-h]|\d{1,2})|(?:response|reply|answer)[ _.\-]?[a-d])$"
)
_BEGINS = re.compile(rf"(?i)^(?:h\d+|{_PEOPLE})")
_TITLED = re.compile(r"(?:(?i:dr|prof|mr|mrs|ms|herr|frau)\.? |(?:[A-Z]\. ?)+[A-Z][a-z])")
"""How the name of a person begins who is called by it: `Dr. Chen`, `M. Rossi`."""
_GOLD = re.compile(r"(?i)^(?:gold|truth|ground[ _]?truth|reference|target)")
_MODEL = re.compile(
    r"(?i)gpt|claude|gemini|gemma|llama|qwen|deepseek|mi[sx]tral|meditron|soulchat|bert|\bphi-?\d|glm|\bo\d\b|palm|falcon|vicuna|"
    r"grok|kimi|baichuan|command-r|judge|\bllm\b|\bai\b"
)
_GENERIC = {
    "rating", "ratings", "rated", "annotation", "annotations", "annotated", "score", "scores", "scored", "label", "labels",
    "labeled", "labelled", "evaluation", "evaluations", "results", "result", "final", "data", "form", "sheet",
}  # fmt: skip
"""Words in a file's name that say nothing of who rated."""
_WORDS = re.compile(r"[\s_\-.()\[\]]+")


def kind(name: str) -> str | None:
    """Guess what kind of rater a name stands for; None where it tells nothing."""
    if _GOLD.search(name):
        return "gold"
    if _BEGINS.search(name) or _TITLED.match(name):
        return "person"
    return "model" if _MODEL.search(name) else None


def names_rater(name: str) -> bool:
    """Whether a column's name, or a part of it, is that of a person or a model."""
    return bool(names_person(name) or _GOLD.match(name.strip()) or names_model(name) or names_system(name))


def names_person(name: str) -> bool:
    """Whether it is the name of a person, as far as names like `expert 2` and `H1` tell."""
    return bool(_PERSON.match(name.strip()))


def names_system(name: str) -> bool:
    """Whether it stands for a system that is rated: `model_a`, `System 2`, `reply B`."""
    return bool(_SYSTEM.match(name.strip()))


def names_model(name: str) -> bool:
    """Whether it names a known family of models."""
    return bool(_MODEL.search(name)) and not _PERSON.match(name.strip())


def spelled(name: str) -> str:
    """Write a name with composed letters, without what nobody sees."""
    return compatible(visible(name), "NFC").strip()


def folded(name: str) -> str:
    """Return what two spellings of one name have in common: letter case, blanks and punctuation aside."""
    bare = _WORDS.sub("", compatible(name).casefold())
    return bare or name


def of_files(stems: Sequence[str]) -> list[str]:
    """Return who rated, for each of several files or sheets, by what their names do not share.

    `expert1_ratings`, `gpt_ratings` are `expert1` and `gpt`; of `H1_scores_n206`, `H2_scores_n206` the part that names a
    person remains.
    """
    persons = [person_in(stem) for stem in stems]
    named = [name for name in persons if name]
    if len(set(named)) == len(named) > len(stems) / 2:
        rest = iter(_trimmed([stem for stem, name in zip(stems, persons, strict=True) if not name]))
        return [name or next(rest) for name in persons]
    return _trimmed(stems)


def person_in(stem: str) -> str:
    """Return the part of a file's name that names a person; empty where none or several do."""
    persons = [word for word in _WORDS.split(stem) if _PERSON.match(word)]
    return persons[0] if len(persons) == 1 else ""


def _trimmed(stems: Sequence[str]) -> list[str]:
    """Take off what all names share, and words that say nothing of who rated."""
    words = [_WORDS.split(stem.strip("_-. ")) for stem in stems]
    trimmed = [_without_generic(parts) for parts in words]
    while all(len(parts) > 1 for parts in trimmed) and len({parts[-1].casefold() for parts in trimmed}) == 1 < len(
        stems
    ):
        trimmed = [parts[:-1] for parts in trimmed]
    while all(len(parts) > 1 for parts in trimmed) and len({parts[0].casefold() for parts in trimmed}) == 1 < len(
        stems
    ):
        if any(len(parts) == 2 and len(parts[1]) < 3 for parts in trimmed):
            break
        trimmed = [parts[1:] for parts in trimmed]
    names = [_as_written(parts, stem) for parts, stem in zip(trimmed, stems, strict=True)]
    return names if len(set(names)) == len(set(stems)) else list(stems)


def _without_generic(parts: list[str]) -> list[str]:
    kept = list(parts)
    while len(kept) > 1 and kept[-1].casefold() in _GENERIC:
        kept.pop()
    while len(kept) > 1 and kept[0].casefold() in _GENERIC:
        kept.pop(0)
    return kept


def _as_written(parts: list[str], stem: str) -> str:
    """Return some neighbouring words of a file's name as they stand in it."""
    pattern = r"[\s_\-.()\[\]]+".join(map(re.escape, parts))
    match = re.search(pattern, stem)
    return match[0] if match else stem
