"""Conversations of several turns, as benchmarks of ours."""
