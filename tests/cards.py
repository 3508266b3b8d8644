"""The card of a benchmark that a test writes into a folder of its own."""

CARD = """
title = "T"
authors = "A"
year = 2026
link = "https://example.org"
measures = "m"
does_not_measure = "n"
languages = ["en", "zh"]
licence = "own"
obtain = "-"
citation = "c"
"""
