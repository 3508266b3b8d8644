"""Mindgauge."""
