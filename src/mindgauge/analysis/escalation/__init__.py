"""What share of the replies people must read to find those they call unsafe, by whose order they read."""
