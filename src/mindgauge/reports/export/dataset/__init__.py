"""A data set of one's own, as others get it: its items by split, a card, a datasheet."""
