"""Whether a build may be released: rules that a team wrote down beforehand, held against what a run measured."""
