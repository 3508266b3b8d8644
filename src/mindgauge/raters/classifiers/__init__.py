"""Classifiers: `dialogues` reads and divides, `tfidf` and `encoder` learn, `calibration` says how far to trust them."""
