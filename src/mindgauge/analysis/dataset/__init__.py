"""A data set of one's own: sources, steps in order, and what becomes of each row."""
