"""What the page answers to: one module per part of it, each with its `router`."""
