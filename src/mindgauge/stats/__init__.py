"""Statistics: arrays in, small named results out. numpy and scipy only; each formula with its source."""
