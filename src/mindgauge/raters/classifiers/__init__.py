"""Classifiers: trained on labelled dialogues, calibrated, saved without pickle, opened as a rater.

`dialogues` reads them, `parts` divides them and knows what was learned from, `tfidf` and `encoder` are the two kinds,
`calibration` says how far a probability can be trusted.
"""
