"""The least that a page which keeps what it is sent can do: the floor of `web.py`.

    python bench/floor.py --port 8123

One route on the same framework and server. `POST /` reads a form, writes one row with `sqlite3`, in a transaction that
survives a power cut as ours do, and redirects; `GET /` sends a constant page of about the size of ours.
"""

import argparse
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Form
from fastapi.responses import HTMLResponse, RedirectResponse

PAGE = (
    "<!doctype html><title>floor</title>"
    + "<p>A line of about eighty characters, as a page of text has some two hundred of.</p>" * 200
)


def app(folder: Path) -> FastAPI:
    connection = sqlite3.connect(folder / "floor.sqlite", check_same_thread=False, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE labels (number INTEGER PRIMARY KEY, form TEXT, answer TEXT)")
    writing = threading.Lock()
    bare = FastAPI(openapi_url=None)

    @bare.post("/")
    def keep(form: Annotated[str, Form()], answer: Annotated[str, Form()]) -> RedirectResponse:
        with writing:
            connection.execute("INSERT INTO labels (form, answer) VALUES (?, ?)", (form, answer))
        return RedirectResponse("/", 303)

    @bare.get("/")
    def show() -> HTMLResponse:
        return HTMLResponse(PAGE)

    return bare


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uvicorn.run(app(Path(folder)), port=chosen.port, log_level="warning")


if __name__ == "__main__":
    main()
