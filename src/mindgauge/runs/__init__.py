"""A run: what it will do (a plan is a list of steps), what it costs, and how the steps are done and kept."""
