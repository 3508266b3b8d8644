"""`logs`: what is in logs, and a sample of it that speaks for all."""
