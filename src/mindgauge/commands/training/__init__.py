"""The parts of `train`: `options` it takes, `data` reads what the user names, `account` says what came of it."""
