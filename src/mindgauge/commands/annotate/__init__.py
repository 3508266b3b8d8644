"""People rate too: one verb of `mindgauge annotate`, one file."""
