"""What Inspect finds by the entry point `mindgauge`: the tasks, and what their logs name."""

from mindgauge.commands.inspect.solvers import judged_by_another, reply
from mindgauge.commands.inspect.tasks import TASKS, every, figures, judge

globals().update({name.replace("/", "_"): build for name, build in TASKS.items()})

__all__ = ["TASKS", "every", "figures", "judge", "judged_by_another", "reply"]
