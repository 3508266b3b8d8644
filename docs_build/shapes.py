"""The pages of the JSON that machines read, and its JSON Schemas, from the structs that are encoded.

What a field means is what stands below it in the code; msgspec says of which type it is.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from docs_build.tables import code, page, prose, table
from mindgauge.analysis.score import Scores
from mindgauge.reports.gate_files import GateRecord
from mindgauge.reports.sections import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
"""The types of JSON in words."""
_REF = "#/$defs/"


class Shape(NamedTuple):
    """What one kind of JSON holds: its struct, its name, and where it comes from."""

    kind: type
    name: str
    about: str


SHAPES = (
    Shape(
        Scores, "score", "What `run`, `rate` and `score` print with `--json`; `score` of several runs prints a list of these."
    ),
    Shape(GateRecord, "gate", "What `gate RUN --policy FILE --json` prints."),
    Shape(Report, "report", "What `report RUN` writes beside its page as `report.json`: the page's content, section by section."),
)  # fmt: skip


def schema(shape: Shape) -> dict[str, Any]:
    """Return a shape's JSON Schema."""
    [root], definitions = msgspec.json.schema_components([shape.kind], ref_template=_REF + "{name}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"mindgauge {shape.name}"}
    return {**head, **root, "$defs": definitions}


def schema_file(shape: Shape) -> str:
    """Write a shape's JSON Schema as a file."""
    return json.dumps(schema(shape), indent=1, ensure_ascii=False) + "\n"


def written(shape: Shape) -> str:
    """Return a shape's page: a table for each object in it, the whole first."""
    content = schema(shape)
    definitions = content["$defs"]
    root = content["$ref"].removeprefix(_REF)
    structs = {kind.__name__: kind for kind in _below(msgspec.Struct)}
    parts = [f"{shape.about} [Its JSON Schema]({shape.name}.schema.json) is for machines."]
    for name in (root, *(name for name in definitions if name != root)):
        if "properties" not in definitions[name]:
            continue
        meanings = _meanings(structs[name])
        rows = [
            [code(field), _kind(about, definitions), prose(meanings.get(field, ""))]
            for field, about in definitions[name]["properties"].items()
        ]
        summary = definitions[name].get("description", "").partition("\n\n")[0]
        parts += [f"## {name}", prose(summary), table(("field", "type", "meaning"), rows)]
    return page(f"JSON: {shape.name}", *parts)


def _below(kind: type) -> Iterator[type]:
    """Yield the classes that derive from one; no two of ours bear one name."""
    children: list[type] = kind.__subclasses__()
    for child in children:
        yield child
        yield from _below(child)


def _kind(about: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say in words of which type a field is; an object leads to its table."""
    if "$ref" in about:
        name = about["$ref"].removeprefix(_REF)
        object_ = "properties" in definitions[name]
        return f"[{name}](#{name.lower()})" if object_ else _kind(definitions[name], definitions)
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(_kind(option, definitions) for option in about["anyOf"]))
    if "enum" in about:
        return " or ".join(code(json.dumps(value, ensure_ascii=False)) for value in about["enum"])
    if about.get("type") == "array":
        return f"list of {_kind(about['items'], definitions)}" if about.get("items") else _tuple(about, definitions)
    if about.get("type") == "object":
        values = about.get("additionalProperties")
        return f"object of {_kind(values, definitions)}" if isinstance(values, dict) and values else "object"
    return NAMES.get(about.get("type", ""), "any")


def _tuple(about: dict[str, Any], definitions: dict[str, Any]) -> str:
    members = [_kind(member, definitions) for member in about.get("prefixItems", ())]
    return f"list: {', '.join(members)}" if members else "list"


def _meanings(kind: type) -> dict[str, str]:
    """Return what stands below each field in the code of a struct and of those it derives from."""
    meanings: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not issubclass(base, msgspec.Struct) or base.__module__.partition(".")[0] != "mindgauge":
            continue
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in itertools.pairwise(definition.body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(meaning))),
                ):
                    meanings[name] = " ".join(meaning.split())
    return meanings
