"""Whether the models that play persons are fit for their part, decided before any score of the model that they talk to.

`dialogues` reads from a run what clients did, `checks` compares it with limits that were fixed beforehand (`limits.toml`),
`gate` says whether scores may be shown.
"""
