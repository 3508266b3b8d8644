"""The instrument: one criterion (`criterion`), the whole (`rubric`), what makes it unusable (`faults`), its `wording`."""

from mindgauge.records.rubric.criterion import Check, Criterion, Level, Node, Scale, Texts, in_language
from mindgauge.records.rubric.rubric import Method, Rubric, shipped

__all__ = ["Check", "Criterion", "Level", "Method", "Node", "Rubric", "Scale", "Texts", "in_language", "shipped"]
