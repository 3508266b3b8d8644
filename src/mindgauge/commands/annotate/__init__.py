"""People rate too: one command of `mindgauge annotate`, one file."""
