"""The generated reference: every file of docs/reference, and whether it is as the code says.

python -m docs_build.reference        writes it
"""

from __future__ import annotations

from pathlib import Path

from docs_build import checks, commands, glossary, metrics, shapes

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def files() -> dict[str, str]:
    """Return what the folder holds, by name."""
    pages = {
        "commands.md": commands.written(), "metrics.md": metrics.written(), "audit.md": checks.written(), "glossary.md": glossary.written(),
    }  # fmt: skip
    for shape in shapes.SHAPES:
        pages[f"{shape.name}_json.md"] = shapes.written(shape)
        pages[f"{shape.name}.schema.json"] = shapes.schema_file(shape)
    return pages


def write() -> None:
    """Write the folder, and remove what nothing makes any more."""
    made = files()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        if path.name not in made:
            path.unlink()
    for name, content in made.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write()
