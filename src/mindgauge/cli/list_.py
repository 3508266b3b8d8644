"""`mindgauge list`."""

from mindgauge.cli import options, render


def list_(json: options.Json = False) -> None:
    """List the benchmarks: what they measure, licence, what data is at hand."""
    from mindgauge.verbs.list import list as verb

    found = verb()
    if json:
        render.as_json(found)
        return
    rows = [[e.name, e.measures, ", ".join(e.languages), str(e.samples), e.licence] for e in found.benchmarks]
    render.table("", ["benchmark", "measures", "languages", "own samples", "licence of the released data"], rows)
    for name, why in found.broken.items():
        print(f"Note: {name} cannot be loaded: {why}")
