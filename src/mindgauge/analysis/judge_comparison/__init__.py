"""Judges, or methods of judging, beside each other: agreement, stability, what they take, which differences are real."""
