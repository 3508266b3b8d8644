"""Juries of judges as raters of their own, and what a further judge adds."""
