"""What came in with a form or a draft, with nothing in it that a database could choke on."""

import json
from typing import Annotated, Any

from fastapi import Depends, HTTPException
from starlette.datastructures import FormData, ImmutableMultiDict
from starlette.requests import Request

from mindgauge import bounds


async def _fields(request: Request) -> ImmutableMultiDict[str, str]:
    form: FormData = await request.form(max_files=0)
    return ImmutableMultiDict(
        (clean(name), clean(value)) for name, value in form.multi_items() if isinstance(value, str)
    )


async def _body(request: Request) -> dict[str, Any]:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(422)
    try:
        body = clean(json.loads(await request.body()))
    except (ValueError, RecursionError) as error:  # broken bytes and broken JSON are ValueErrors
        raise HTTPException(422) from error
    if not isinstance(body, dict):
        raise HTTPException(422)
    return body


Fields = Annotated[ImmutableMultiDict[str, str], Depends(_fields)]
"""The fields of a posted form by name; `.get(name, "")` for one, `.getlist(name)` for several. Never a file."""
Body = Annotated[dict[str, Any], Depends(_body)]
"""A posted JSON object; its numbers are as JSON has them, and may be larger than expected."""


def clean(value: Any) -> Any:
    """Replace NUL characters and lone surrogates, which no database takes, in all texts of a JSON-like value."""
    if isinstance(value, str):
        return bounds.clean(value)
    if isinstance(value, list):
        return [clean(part) for part in value]
    if isinstance(value, dict):
        return {clean(name): clean(part) for name, part in value.items()}
    return value
