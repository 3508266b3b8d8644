"""Every Eval Ever: a run's figures, and its ratings one by one, in the form in which evaluations are shared."""
