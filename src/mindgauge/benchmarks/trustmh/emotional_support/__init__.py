"""TrustMH-Bench: the next reply of a supporter."""
