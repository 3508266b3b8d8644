"""Raters put a value on a criterion for a subject: a judge model, a rule."""
