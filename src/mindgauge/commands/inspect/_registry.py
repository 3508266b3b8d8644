"""What Inspect finds by the entry point `mindgauge`: the tasks, and what their logs name."""

from mindgauge.commands.inspect.scorer import every, figures, judge
from mindgauge.commands.inspect.solvers import converse, judged_by_another, reply
from mindgauge.commands.inspect.tasks import TASKS

globals().update({name.replace("/", "_"): build for name, build in TASKS.items()})

__all__ = ["TASKS", "converse", "every", "figures", "judge", "judged_by_another", "reply"]
