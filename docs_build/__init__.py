"""What `make docs` does: the reference from the code, outputs and pictures from runs, then the site."""
