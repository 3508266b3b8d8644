"""The parts of `train`: gathering samples, and saying what came of it.

`data` reads what the user names, `account` computes and holds figures, calibration and thresholds, `card` and `diagram` show them to people.
"""
