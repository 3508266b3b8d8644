"""`mindgauge annotate`: people label in the browser, alone, in batches, under a gate."""

import typer

from mindgauge.cli.annotate import export, import_, new, serve, status

app = typer.Typer(
    name="annotate",
    help="People rate, too: blind rounds with a gate, in the browser.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(new.new)
app.command()(serve.serve)
app.command()(status.status)
app.command()(export.export)
app.command("import")(import_.import_)
