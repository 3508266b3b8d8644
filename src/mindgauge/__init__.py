"""Mindgauge measures how safely language models talk with people in distress, and how far each number can be trusted.

Every command of the command line is a function here, with the same name and arguments, that returns a small result.
They are loaded when first used, so that `import mindgauge` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what `typing` would say: it takes longer to load than this file
if TYPE_CHECKING:
    from mindgauge.benchmarks.metrics import metric as metric
    from mindgauge.commands.annotate.export import annotate_export as annotate_export
    from mindgauge.commands.annotate.import_ import annotate_import as annotate_import
    from mindgauge.commands.annotate.new import annotate_new as annotate_new
    from mindgauge.commands.annotate.serve import annotate_serve as annotate_serve
    from mindgauge.commands.annotate.status import annotate_status as annotate_status
    from mindgauge.commands.audit import audit as audit
    from mindgauge.commands.clients.check import clients_check as clients_check
    from mindgauge.commands.compare import compare as compare
    from mindgauge.commands.compare import profile as profile
    from mindgauge.commands.data.fetch import papers_fetch as papers_fetch
    from mindgauge.commands.data.released import papers_list as papers_list
    from mindgauge.commands.dataset.build import dataset_build as dataset_build
    from mindgauge.commands.dataset.check import dataset_check as dataset_check
    from mindgauge.commands.dataset.gold import dataset_gold as dataset_gold
    from mindgauge.commands.dataset.label import dataset_label as dataset_label
    from mindgauge.commands.dataset.release import dataset_release as dataset_release
    from mindgauge.commands.dataset.transform import dataset_transform as dataset_transform
    from mindgauge.commands.demo import demo as demo
    from mindgauge.commands.export import export as export
    from mindgauge.commands.gate import gate as gate
    from mindgauge.commands.gate import gate_baseline as gate_baseline
    from mindgauge.commands.gate import gate_init as gate_init
    from mindgauge.commands.judges.compare import judges_compare as judges_compare
    from mindgauge.commands.judges.escalation import judges_escalation as judges_escalation
    from mindgauge.commands.judges.panel import judges_panel as judges_panel
    from mindgauge.commands.judges.stress import judges_stress as judges_stress
    from mindgauge.commands.list import list as list  # noqa: A004 - the command's name
    from mindgauge.commands.load import papers_load as papers_load
    from mindgauge.commands.logs.logs import logs_sample as logs_sample
    from mindgauge.commands.logs.logs import logs_show as logs_show
    from mindgauge.commands.new import new as new
    from mindgauge.commands.rate import rate as rate
    from mindgauge.commands.reliability import ratings as ratings
    from mindgauge.commands.reliability import reliability as reliability
    from mindgauge.commands.reliability import reliability_plan as reliability_plan
    from mindgauge.commands.report import report as report
    from mindgauge.commands.reproduce import papers_reproduce as papers_reproduce
    from mindgauge.commands.run import run as run
    from mindgauge.commands.salvage import salvage as salvage
    from mindgauge.commands.score import score as score
    from mindgauge.commands.status import status as status
    from mindgauge.commands.train import train as train
    from mindgauge.commands.view import view as view
    from mindgauge.commands.watch.watch import logs_watch as logs_watch
    from mindgauge.models.bots.function import Function as Function
    from mindgauge.models.scripted import Scripted as Scripted
    from mindgauge.models.settings import Settings as Settings
    from mindgauge.records import Message as Message
    from mindgauge.records import Rating as Rating
    from mindgauge.records import Reply as Reply
    from mindgauge.records import Sample as Sample
    from mindgauge.records import Status as Status
    from mindgauge.records.errors import MindgaugeError as MindgaugeError
    from mindgauge.records.ratings import RatingLayout as RatingLayout

    __all__: tuple[str, ...]


_OTHERS = {
    "Function": ("mindgauge.models.bots.function", "Function"),
    "MindgaugeError": ("mindgauge.records.errors", "MindgaugeError"),
    "metric": ("mindgauge.benchmarks.metrics", "metric"),
    "RatingLayout": ("mindgauge.records.ratings", "RatingLayout"),
    "Scripted": ("mindgauge.models.scripted", "Scripted"),
    "Settings": ("mindgauge.models.settings", "Settings"),
    **{name: ("mindgauge.records", name) for name in ("Message", "Rating", "Reply", "Sample", "Status")},
}


def _places() -> dict[str, tuple[str, str]]:
    """Return the module and the name of everything that is here, the commands by the registry, which loads when first asked."""
    from mindgauge.commands.registry import functions

    return {name: place for name, place in functions().items() if name != "reply"} | _OTHERS


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'mindgauge' has no attribute {name!r}")
    places = _places()
    if name == "__all__":
        return tuple(sorted(places))
    if name not in places:
        raise AttributeError(f"module 'mindgauge' has no attribute {name!r}")
    import importlib

    module, function = places[name]
    return getattr(importlib.import_module(module), function)


def __dir__() -> list[str]:  # type: ignore[valid-type]  # the builtin, not the command
    """Name everything that is here, also what is not loaded yet, so that a notebook completes it."""
    return [*_places(), *(name for name in globals() if name.startswith("__"))]
