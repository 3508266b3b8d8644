"""`data`: the authors' released files; which are known, which are here, and how to get the others."""
