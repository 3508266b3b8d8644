"""`dataset`: build a data set of one's own from sources, and release it with card and datasheet."""
