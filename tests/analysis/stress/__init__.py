"""Stress tests of judges."""
