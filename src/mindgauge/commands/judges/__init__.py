"""What one does with judges: one verb of `mindgauge judges`, one file."""
