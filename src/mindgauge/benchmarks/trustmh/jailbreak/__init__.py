"""Harmful requests, plain and under jailbreaks."""
