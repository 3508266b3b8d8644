"""Every sentence of a report's first page, worked out again from the run's database and nothing else of ours.

It reads SQLite and the report's JSON, and imports nothing of Mindgauge. Each kind of sentence has a form and a rule; a
sentence that has no form, or whose numbers are others, is returned. Intervals that rest on resampling are bootstrapped
here with a generator of its own, so they may differ by a few hundredths.
"""

from tests.reports.recomputed.page import Page

__all__ = ["Page"]
