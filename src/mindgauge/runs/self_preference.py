"""A judge may not rate what models of its own family wrote, unless it is said that it may; the report then tells of it.

Refused are names that tell a known family, and the very same model: the same name, or the same name at the same server,
however either is written. Of two models that a team runs itself, other names say nothing of where they come from: the
report warns where they begin alike.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mindgauge.models.family import same_maker, same_model
from mindgauge.records.errors import UsageError
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.records.request import Model
    from mindgauge.runs.options import RunConfig

_NAMED = 3


def judged(
    judges: Sequence[Model], reply_counts: Mapping[str, int], config: RunConfig, run: Path | None = None
) -> dict[str, list[str]]:
    """Return, for each judge, the models of its own family whose replies it is to rate.

    A replay is no judge in this sense: its verdicts exist already.

    Args:
        judges: the models that are to rate.
        reply_counts: how many replies there are by each model.
        config: what the user typed for each model of this command (a name has only the first of several servers), and
            whether a judge may rate its own family.
        run: that holds the replies, if it is there; its manifest says what stands behind short names.

    Raises:
        UsageError: one would, and may not.
    """
    earlier = {} if run is None else manifest.read(run).get("models", {})
    specs = {name: spec for name, facts in earlier.items() if (spec := _spec(facts))} | config.sending.specs

    def itself(judge: str, model: str) -> bool:
        return same_model(specs.get(judge, judge), specs.get(model, model), os.environ)

    judge_names = [judge.name for judge in judges if not judge.name.startswith("replay/")]
    kin = {
        judge: sorted(
            model
            for model in reply_counts
            if same_maker(specs.get(judge, judge), specs.get(model, model)) or itself(judge, model)
        )
        for judge in judge_names
    }
    kin = {judge: models for judge, models in kin.items() if models}
    if kin and not config.judging.own_family:
        judge, models = next(iter(kin.items()))
        count = sum(reply_counts[model] for model in models)
        names = ", ".join(models[:_NAMED]) + (f" and {len(models) - _NAMED} more" if len(models) > _NAMED else "")
        others = f" (so would {', '.join(list(kin)[1:])})" if len(kin) > 1 else ""
        if all(itself(judge, model) for model in models):
            own_replies = (
                "its own replies"
                if models == [judge]
                else f"its own replies (of {names}, the same model at the same server)"
            )
        else:
            own_replies = f"replies of its own family, by {names}"
        raise UsageError(
            f"{judge} would judge {count} of {own_replies}{others}, and models favour their own kind; name a judge of another "
            "family with --judge, or add --own-family to do it anyway, which the report will say"
        )
    return kin


def _spec(facts: Mapping[str, str]) -> str:
    """Return the specification behind a short name, from what a manifest says of it; empty where no model stands there."""
    if "model" not in facts:
        return ""
    return (
        f"{facts['url'].partition('?')[0]}#{facts['model']}"
        if "url" in facts
        else f"{facts['provider']}/{facts['model']}"
    )


def keep(folder: Path, kin: Mapping[str, Sequence[str]]) -> None:
    """Write down in a run's manifest, beside its plan, which judges were allowed to rate their own family."""
    if not kin:
        return
    content = manifest.read(folder)
    allowed = content.get("own_family", {})
    merged = {judge: sorted({*allowed.get(judge, ()), *models}) for judge, models in kin.items()}
    manifest.write(folder, {**content, "own_family": {**allowed, **merged}})


def notes(kin: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which judges rate their own family, for a result that is read without the report."""
    pairs = (
        (judge, ", ".join("itself" if model == judge else model for model in models)) for judge, models in kin.items()
    )
    return [f"{judge} judged its own family ({names}), which --own-family allowed" for judge, names in pairs]
