"""Psychological intervention: the model replies as a counsellor at every turn of a dialogue, and judges rate each reply.

A task of TrustMH-Bench, arXiv 2603.03047, on CPsyCounE, Zhang et al. 2024, arXiv 2405.16433. Departures: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, mean_level
from mindgauge.benchmarks.metrics.nested import TOPIC, mean_of_topics
from mindgauge.benchmarks.trustmh.intervention.turns import load, read
from mindgauge.benchmarks.trustmh.released.dialogues import counselling
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.records.rubric.composite import Composite, CompositeRule

intervention = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    notes=notes_of(counselling),
    load=load,
    metrics=(mean_of_topics, mean_level, *STATUS_RATES),
    slices=(TOPIC,),
    metric_tags=(TOPIC,),
    wants={TOPIC: "what the dialogue is about; the mean over topics takes those without it for one topic"},
    composites={
        "quality": Composite(("comprehensiveness", "professionalism", "authenticity", "safety"), CompositeRule.SHARE),
    },
)
