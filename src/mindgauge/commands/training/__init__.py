"""The parts of `train`: gathering samples, dividing them, and saying what came of it.

`data` reads what the user names, `parts` divides it, `account` computes figures, calibration and thresholds, `result`
holds them, `card` and `diagram` show them to people.
"""
