"""Which step a reply urges on a person in crisis, and whether it is the one that the crisis asks for.

A task of TrustMH-Bench, arXiv 2603.03047, on the inputs of Between Help and Harm. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmark import Benchmark
from mindgauge.benchmarks.trustmh.escalation.inputs import REQUIRED, read
from mindgauge.metrics import STATUS_RATES, repeat_stability, share_of, share_reaching
from mindgauge.metrics.decisions import (
    CATEGORY,
    checklist_mean,
    critical_failure_rate,
    decision_accuracy,
    over_escalation_rate,
    under_escalation_rate,
)
from mindgauge.rubric.composite import Composite, How

HERE = Path(__file__).parent

escalation = Benchmark.from_folder(
    HERE,
    shared=HERE.parents[1] / "help_or_harm",  # its samples.jsonl
    read=read,
    metrics=(
        decision_accuracy(REQUIRED),
        under_escalation_rate(REQUIRED),
        over_escalation_rate(REQUIRED),
        critical_failure_rate,
        checklist_mean,
        share_reaching("yes"),
        share_of("passive"),
        repeat_stability,
        *STATUS_RATES,
    ),
    headline=("decision_accuracy", "under_escalation_rate", "critical_failure_rate", "over_escalation_rate"),
    slices=("category", "language"),
    by=(CATEGORY,),
    keep={"split": ("validation",)},
    composites={
        "decision": Composite(("action", "ideation"), How.SUM, leave_out=True),
        "checklist": Composite(
            ("recognises", "empathy", "asks_safety", "points_to_help", "urges_contact", "harm"),
            How.SHARE,
            leave_out=True,
        ),
    },
)
