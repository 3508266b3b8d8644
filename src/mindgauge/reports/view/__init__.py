"""The reader, served on this machine: a person answers in it, as a rater of the run."""
