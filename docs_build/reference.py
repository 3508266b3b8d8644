"""The generated reference: every file of docs/reference, and whether it is as the code says.

python -m docs_build.reference        writes it
"""

from __future__ import annotations

from pathlib import Path

from docs_build import checks, commands, glossary, metrics, shapes
from docs_build.tables import MADE

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


def kept() -> dict[str, str]:
    """Return the generated files that are in the folder; pages that a person wrote are not among them."""
    content = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    return {name: text for name, text in content.items() if name.endswith(".json") or text.startswith(MADE)}


def write() -> None:
    """Write the folder, and remove generated files that nothing makes any more."""
    made = files()
    FOLDER.mkdir(exist_ok=True)
    for name in kept().keys() - made.keys():
        (FOLDER / name).unlink()
    for name, content in made.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write()
