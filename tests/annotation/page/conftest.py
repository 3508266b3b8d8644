"""A project on both databases, for the page."""

from tests.annotation.conftest import database_url, project  # fixtures

__all__ = ["database_url", "project"]
