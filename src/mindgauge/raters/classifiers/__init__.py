"""Classifiers: trained on labelled dialogues, calibrated, saved without pickle, opened as a rater.

`labelled` reads samples, `parts` divides them and knows what was learned from, `tfidf` and `encoder` are the two kinds,
`training` trains them, `calibration` says how far a probability can be trusted, `saved` keeps and opens the result.
"""
