"""TrustMH-Bench: medical knowledge of mental disorders."""
