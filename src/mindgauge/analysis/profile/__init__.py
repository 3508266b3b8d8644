"""A suite's profile: what models score in each task, what that makes of each dimension, and how sure their ranks are."""

from mindgauge.analysis.profile.profiled import profile
from mindgauge.analysis.profile.records import DimensionScore, Profile, TaskScore

__all__ = ["DimensionScore", "Profile", "TaskScore", "profile"]
