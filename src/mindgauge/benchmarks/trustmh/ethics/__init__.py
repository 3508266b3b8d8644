"""Ethical reasoning."""
