"""Files that people bring, and files of ours: read within bounds, written for their owner alone."""
