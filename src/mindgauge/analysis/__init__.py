"""From ratings to numbers: ratings → arrays → statistics. Nothing here can reach a model."""
