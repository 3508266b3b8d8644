"""`clients`: the models that play persons, and the persons that they play."""
