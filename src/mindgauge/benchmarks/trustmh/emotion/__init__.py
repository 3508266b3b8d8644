"""TrustMH-Bench: recognising an emotion and its cause."""
