"""One command, one function: the public API. Commands never print."""
