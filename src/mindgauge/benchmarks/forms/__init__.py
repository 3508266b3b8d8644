"""An item in another form, written by a model: what it is asked, how its answer is read, by which rubric that is checked."""
