"""TrustMH-Bench."""
