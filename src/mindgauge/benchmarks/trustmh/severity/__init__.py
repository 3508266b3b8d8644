"""How near to suicide a person's posts are."""
