"""What a model gives away of a secret that it was told."""
