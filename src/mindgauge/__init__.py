"""Mindgauge measures how safely language models talk with people in distress, and how far each number can be trusted.

Every verb of the command line is a function here, with the same name and arguments, that returns a small result.
They are loaded when first used, so that `import mindgauge` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindgauge.errors import MindgaugeError
    from mindgauge.models.scripted import Scripted
    from mindgauge.models.settings import Settings
    from mindgauge.records import Message, Rating, Reply, Sample, Status
    from mindgauge.verbs.annotate.export import annotate_export
    from mindgauge.verbs.annotate.import_ import annotate_import
    from mindgauge.verbs.annotate.new import annotate_new
    from mindgauge.verbs.annotate.serve import annotate_serve
    from mindgauge.verbs.annotate.status import annotate_status
    from mindgauge.verbs.audit import audit
    from mindgauge.verbs.compare import compare
    from mindgauge.verbs.demo import demo
    from mindgauge.verbs.export import export
    from mindgauge.verbs.judges.compare import compare as judges_compare
    from mindgauge.verbs.judges.escalation import escalation as judges_escalation
    from mindgauge.verbs.judges.panel import panel as judges_panel
    from mindgauge.verbs.judges.rationales import rationales as judges_rationales
    from mindgauge.verbs.judges.rationales import rationales_export as judges_rationales_export
    from mindgauge.verbs.judges.rationales import rationales_import as judges_rationales_import
    from mindgauge.verbs.judges.stress import stress as judges_stress
    from mindgauge.verbs.list import list  # noqa: A004 - the verb's name
    from mindgauge.verbs.load import load
    from mindgauge.verbs.profile import profile
    from mindgauge.verbs.rate import rate
    from mindgauge.verbs.reliability import reliability
    from mindgauge.verbs.report import report
    from mindgauge.verbs.reproduce import reproduce
    from mindgauge.verbs.run import run
    from mindgauge.verbs.salvage import salvage
    from mindgauge.verbs.score import score
    from mindgauge.verbs.status import status
    from mindgauge.verbs.train import train

_VERBS = (
    "audit",
    "compare",
    "demo",
    "export",
    "list",
    "load",
    "profile",
    "rate",
    "reliability",
    "report",
    "reproduce",
    "run",
    "salvage",
    "score",
    "status",
    "train",
)
_WHERE = {
    **{verb: f"mindgauge.verbs.{verb}" for verb in _VERBS},
    "annotate_export": "mindgauge.verbs.annotate.export",
    "annotate_import": "mindgauge.verbs.annotate.import_",
    "annotate_new": "mindgauge.verbs.annotate.new",
    "annotate_serve": "mindgauge.verbs.annotate.serve",
    "annotate_status": "mindgauge.verbs.annotate.status",
    "judges_compare": "mindgauge.verbs.judges.compare:compare",
    "judges_escalation": "mindgauge.verbs.judges.escalation:escalation",
    "judges_panel": "mindgauge.verbs.judges.panel:panel",
    "judges_rationales": "mindgauge.verbs.judges.rationales:rationales",
    "judges_rationales_export": "mindgauge.verbs.judges.rationales:rationales_export",
    "judges_rationales_import": "mindgauge.verbs.judges.rationales:rationales_import",
    "judges_stress": "mindgauge.verbs.judges.stress:stress",
    **dict.fromkeys(("Message", "Rating", "Reply", "Sample", "Status"), "mindgauge.records"),
    "MindgaugeError": "mindgauge.errors",
    "Scripted": "mindgauge.models.scripted",
    "Settings": "mindgauge.models.settings",
}
__all__ = [
    "Message",
    "MindgaugeError",
    "Rating",
    "Reply",
    "Sample",
    "Scripted",
    "Settings",
    "Status",
    "annotate_export",
    "annotate_import",
    "annotate_new",
    "annotate_serve",
    "annotate_status",
    "audit",
    "compare",
    "demo",
    "export",
    "judges_compare",
    "judges_escalation",
    "judges_panel",
    "judges_rationales",
    "judges_rationales_export",
    "judges_rationales_import",
    "judges_stress",
    "list",
    "load",
    "profile",
    "rate",
    "reliability",
    "report",
    "reproduce",
    "run",
    "salvage",
    "score",
    "status",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'mindgauge' has no attribute {name!r}")
    module, _, function = _WHERE[name].partition(":")
    return getattr(importlib.import_module(module), function or name)
