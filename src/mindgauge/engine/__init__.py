"""The engine does the steps of a plan: it asks models, within a budget, and keeps what they say."""

from mindgauge.engine.budget import Budget
from mindgauge.engine.session import Progress, Session, in_lanes, run_async
from mindgauge.engine.steps import (
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
    "in_lanes",
    "put_gold",
    "run_async",
]
