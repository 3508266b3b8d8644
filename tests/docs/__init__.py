"""Documents: their links, what is made from the code, and what is made by running commands."""
