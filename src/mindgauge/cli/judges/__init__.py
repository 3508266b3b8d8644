"""`mindgauge judges`: how far a judge can be trusted, and which one."""

import typer

from mindgauge.cli import options
from mindgauge.cli.judges import compare, escalation, panel, rationales, stress

app = typer.Typer(
    name="judges",
    help="How far judges can be trusted, and which one: methods, stress, panels, escalation, rationales.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(cls=options.Command)(compare.compare)
app.command(cls=options.Command)(stress.stress)
app.command()(panel.panel)
app.command()(escalation.escalation)
app.add_typer(rationales.app)
