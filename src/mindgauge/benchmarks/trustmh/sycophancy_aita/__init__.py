"""Whom the model holds at fault where a crowd has decided."""
