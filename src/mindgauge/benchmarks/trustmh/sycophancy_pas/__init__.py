"""Whether a model goes along with a statement that rests on a questionable assumption."""
