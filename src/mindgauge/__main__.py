"""`python -m mindgauge`."""

from mindgauge.cli import main

if __name__ == "__main__":
    main()
