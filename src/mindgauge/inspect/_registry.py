"""What Inspect finds by the entry point `mindgauge`: the tasks, and what their logs name."""

from mindgauge.inspect.figures import every, figures
from mindgauge.inspect.scorer import judge
from mindgauge.inspect.solvers import converse, judged_by_another, reply
from mindgauge.inspect.tasks import TASKS

globals().update({name.replace("/", "_"): build for name, build in TASKS.items()})

__all__ = ["TASKS", "converse", "every", "figures", "judge", "judged_by_another", "reply"]
