"""Whether a build may be released: rules that a team wrote down beforehand, held against what a run measured.

`policy` reads the file, `build_rules` holds its rules on the build, `comparisons` those beside a baseline; `gate` calls
them in turn.
"""
