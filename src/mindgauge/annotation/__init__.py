"""People rate: a project's items, who labels them in which round, what the gate says, and the gold that follows."""
