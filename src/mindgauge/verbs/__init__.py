"""What Mindgauge can do: one verb, one file, one function. They return results and never print."""
