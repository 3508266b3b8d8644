"""The annotation page: people come in by a link, label, discuss and decide."""
