"""Calls made by the actors of a Ray cluster: another way to carry the same calls, for a plain model of any kind."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from mindgauge.models.bots.bot import Bot
from mindgauge.models.by_hand import ByHand
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from mindgauge.models.settings import Settings
    from mindgauge.records.request import Model


def on_ray(model: Model, spec: str, settings: Settings) -> Model:
    """Let actors ask in this model's stead. Nothing starts before the model is entered.

    A model that answers from files stays in this process.

    Args:
        model: the plain model that `spec` names.
        spec: as the user typed it; each actor opens it anew.
        settings: the command's; `engine` says which Ray, `actors` how many.

    Raises:
        UsageError: it is a bot of the user's own, Ray is not installed, or `local_only` forbids this cluster.
    """
    if isinstance(model, Bot):
        raise UsageError(f"engine {settings.engine}: {model.name} is a bot of your own, which is asked from this process; leave the engine away")  # fmt: skip
    if spec.startswith("replay/") or isinstance(model, ByHand) or not settings.sends:
        return model
    if find_spec("ray") is None or find_spec("grpc") is None:
        raise UsageError(f"engine {settings.engine} needs Ray: pip install 'mindgauge[ray]'")
    from mindgauge.models.ray.cluster import Cluster
    from mindgauge.models.ray.model import RayModel

    return RayModel(model, spec, settings, Cluster.of(settings.engine, local_only=settings.local_only))
