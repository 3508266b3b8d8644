"""`judges stress`: what is tried on a judge (`probes`), what a run holds of it (`reading`), what comes of it (`effects`)."""
