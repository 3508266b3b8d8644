"""The engine does the steps of a plan: it asks models, within a budget, and keeps what they say."""

from mindgauge.runs.budget import Budget
from mindgauge.runs.lanes import run_per_model
from mindgauge.runs.session import Progress, Session, run_async
from mindgauge.runs.steps import (
    CallStep,
    ClassifierStep,
    PlannedSubject,
    RatingStep,
    ReadingStep,
    ReplyStep,
    RuleStep,
    Step,
    put_gold,
)

__all__ = [
    "Budget",
    "CallStep",
    "ClassifierStep",
    "PlannedSubject",
    "Progress",
    "RatingStep",
    "ReadingStep",
    "ReplyStep",
    "RuleStep",
    "Session",
    "Step",
    "put_gold",
    "run_async",
    "run_per_model",
]
