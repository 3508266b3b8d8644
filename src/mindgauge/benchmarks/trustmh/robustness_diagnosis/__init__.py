"""TrustMH-Bench: a diagnosis from noisy words."""
