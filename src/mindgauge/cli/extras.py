"""What some commands need that Mindgauge does not bring by itself."""

from __future__ import annotations

EXTRAS = {
    "classifier": ("accelerate", "huggingface_hub", "safetensors", "sklearn", "threadpoolctl", "torch", "transformers"),
    "cloud": ("aiobotocore", "fsspec", "s3fs"),
    "inspect": ("inspect_ai",),
    "local": ("xllamacpp",),
    "ray": ("grpc", "ray"),
    "web": ("fastapi", "multipart", "pg8000", "python_multipart", "sqlalchemy", "starlette", "uvicorn"),
}
"""Extra → what is imported of it."""


def advice(error: ModuleNotFoundError) -> str:
    """Say in one line how to get what is missing.

    Raises:
        ModuleNotFoundError: it is a part of Mindgauge itself.
    """
    package = (error.name or "").partition(".")[0]
    if package in {"", "mindgauge"}:
        raise error
    extra = next((f"'mindgauge[{extra}]'" for extra, packages in EXTRAS.items() if package in packages), package)
    return f"this command needs {package}, which is not installed; pip install {extra}"
