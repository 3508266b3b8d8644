"""Emotion recognition: what does a person in a story feel, and why?

Sabour et al., EmoBench, 2024; as a task of TrustMH-Bench, arXiv 2603.03047. Departures from the paper: card.toml.
"""

from pathlib import Path

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, fleiss_kappa
from mindgauge.benchmarks.metrics.options import chance
from mindgauge.benchmarks.trustmh.emotion.stories import read, written
from mindgauge.benchmarks.trustmh.released.choices import understanding
from mindgauge.benchmarks.trustmh.released.notes import notes_of
from mindgauge.records.rubric.composite import Composite, CompositeRule

HERE = Path(__file__).parent
FEELINGS, REASONS = "options.emotion", "options.cause"

emotion = Benchmark.from_folder(
    HERE,
    read=read,
    completed=written,
    notes=notes_of(understanding),
    metrics=(
        accuracy,
        accuracy_of_read,
        chance(FEELINGS, levels=6),
        chance(REASONS, levels=7),
        chance(FEELINGS, REASONS, levels=2),
        fleiss_kappa,
        *STATUS_RATES,
    ),
    composites={"both": Composite(("emotion", "cause"), CompositeRule.RIGHT)},
    slices=("language", "category"),
    metric_tags=(FEELINGS, REASONS),
)
