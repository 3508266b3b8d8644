"""TrustMH-Bench: reading a diagnosis from what a person writes."""
