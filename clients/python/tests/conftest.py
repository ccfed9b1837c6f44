"""One server for all tests, the built program; each test has a user of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from stratamem import AsyncClient, Client
from stratamem.testing import Server, server


@pytest.fixture(scope="session")
def strata() -> Iterator[Server]:
    with server("--request-timeout", "2m", "--embedding-deadline", "10s") as running:  # a slow machine fails no test
        yield running


@pytest.fixture
def client(strata: Server) -> Iterator[Client]:
    with strata.client() as c:
        yield c


@pytest.fixture
async def aclient(strata: Server) -> AsyncIterator[AsyncClient]:
    async with strata.async_client() as c:
        yield c


@pytest.fixture
def user() -> str:
    return f"user-{uuid.uuid4().hex}"
