"""TrustMH-Bench: the next reply of a supporter to noisy words."""
