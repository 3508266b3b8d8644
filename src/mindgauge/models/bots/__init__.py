"""Bots with an API of their own: an HTTP template, a Python function or class, a command that reads and writes JSON lines."""
