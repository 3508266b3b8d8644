"""The engine asks models, within a budget, and keeps what they say: `answer` and `rate`."""

from mindgauge.engine.budget import Budget
from mindgauge.engine.lanes import Step, in_lanes, run_async
from mindgauge.engine.session import Progress, Session
from mindgauge.engine.steps import answer, classify, put_gold, rate, rate_by_rule, read_replies

__all__ = [
    "Budget",
    "Progress",
    "Session",
    "Step",
    "answer",
    "classify",
    "in_lanes",
    "put_gold",
    "rate",
    "rate_by_rule",
    "read_replies",
    "run_async",
]
