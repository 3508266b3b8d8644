"""A project on SQLite, and in the long form on PostgreSQL: what a page does with its database is tried one folder above."""

import pytest

from tests.annotation.conftest import POSTGRES, empty_database, postgres_url, project  # fixtures

database_url = pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=[*POSTGRES, pytest.mark.long])], name="database_url"
)(empty_database)

__all__ = ["database_url", "postgres_url", "project"]
