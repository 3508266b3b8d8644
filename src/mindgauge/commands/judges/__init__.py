"""What one does with judges: one command of `mindgauge judges`, one file."""
