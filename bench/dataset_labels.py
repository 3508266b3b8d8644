"""How often intervals of a panel's errors and of corrected shares of classes hold the truth, and how far shares are off.

    python -m bench.dataset_labels [--trials 400] [--items 1500] [--number 160] [--disputed 40]

What is planted stands in tests/analysis/dataset/label_trial.py.
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.analysis.dataset.label_trial import LEVELS, trial


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("trials", 400), ("items", 1500), ("number", 160), ("disputed", 40), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    result = trial(**vars(parser.parse_args()))
    for name, share in result.coverage.items():
        print(f"{name}: held {share:.3f}")
    for label in LEVELS:
        errors, raw, widths = (np.array(part[label]) for part in (result.errors, result.raw, result.widths))
        error = errors.std() / np.sqrt(len(errors))
        print(f"{label}: corrected share off by {errors.mean():+.4f} (standard error {error:.4f}), the panel's by {raw.mean():+.4f}; width {widths.mean():.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
