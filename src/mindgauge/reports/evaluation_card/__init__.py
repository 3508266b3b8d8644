"""The evaluation card: one page for governance, of what a report says and what an owner states."""
