"""`mindgauge train`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render

_CLASSIFIER = options.under("The classifier")
_LEARNED = options.under("What is learned")
_TEST = options.under("The test")
_TRAINING = options.under("The training")


def train(
    sources: Annotated[
        list[str],
        typer.Argument(
            help=f"A benchmark, a run that people labelled, or files of labelled dialogues ({options.TABLE}): label, and "
            "text, user, messages or reply."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder that the classifier is written to.")],
    data: options.Data = None,
    encoder: Annotated[
        str | None, _CLASSIFIER(help="A folder with an encoder's weights, or its name on the hub.")
    ] = None,
    baseline: Annotated[bool, _CLASSIFIER("--baseline", help="TF-IDF and a linear model; needs no download.")] = False,
    rubric: Annotated[str | None, _LEARNED(help="Whose labels a file's are: a benchmark, or a rubric.toml.")] = None,
    criterion: Annotated[str | None, _LEARNED(help="Which one is learned, where the rubric has several.")] = None,
    test: Annotated[
        str | None, _TEST(help="What it is tested on, and nothing else: a benchmark, a run or a file.")
    ] = None,
    dev: Annotated[float, _TEST(help="The share of the training data that chooses the checkpoint.")] = 0.1,
    folds: Annotated[int | None, _TEST(help="Test by cross-validation over whole dialogues, so many folds.")] = None,
    where: Annotated[
        list[str], _LEARNED(help="Train on samples whose tag has a value: split=train. May be repeated.")
    ] = [],  # noqa: B006 - how typer spells an empty list
    test_where: Annotated[list[str], _TEST(help="Test on samples whose tag has a value. May be repeated.")] = [],  # noqa: B006
    labels_from: Annotated[
        str | None, _LEARNED(help="The tag that holds the training labels, if not the target.")
    ] = None,
    seeds: Annotated[int, _TRAINING(min=1, help="How many trainings, from seed 1 on.")] = 1,
    epochs: Annotated[int, _TRAINING(min=1, help="Passes over the training data, at most.")] = 5,
    batch: Annotated[int, _TRAINING(min=1, help="Dialogues per step.")] = 16,
    lr: Annotated[float, _TRAINING(help="The highest learning rate.")] = 2e-5,
    max_length: Annotated[
        int, _TRAINING(min=16, help="Tokens of a dialogue; its oldest words beyond them are left out.")
    ] = 512,
    risk: Annotated[
        float | None, _TRAINING(help="Abstain so often that at most this share of decisions is wrong.")
    ] = None,
    limit: options.Limit = None,
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    json: options.Json = False,
) -> None:
    """Train a classifier on labelled dialogues; the same command continues where it stopped."""
    from mindgauge.commands.train import train as function

    with render.progress() as progress:
        trained = function(
            sources, out=out, data=data, encoder=encoder, baseline=baseline, rubric=rubric, criterion=criterion,
            test=test, dev=dev, folds=folds, where=options.where(where), test_where=options.where(test_where),
            labels_from=labels_from, seeds=seeds, epochs=epochs, batch=batch, lr=lr, max_length=max_length,
            risk=risk, limit=limit, columns=options.mapping(columns), progress=progress, command=render.command(),
        )  # fmt: skip
    if json:
        render.as_json(trained)
    else:
        print(trained)
