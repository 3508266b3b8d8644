"""A suite in a report: a radar and its plain alternative, a heat map, and a panel for each dimension."""
