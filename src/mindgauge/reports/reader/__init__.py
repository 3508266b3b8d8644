"""The reader: every reply of a run as a folder of pages beside the report, searched and filtered without a network."""
