"""TrustMH-Bench: a counsellor's replies, turn by turn."""
