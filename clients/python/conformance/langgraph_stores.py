"""A plugin of pytest that has LangGraph's own tests of stores make a StrataStore wherever they make an InMemoryStore, and leaves out
those that bring an embedding model of their own, which is the server's here, and those about LangGraph's own functions."""

from __future__ import annotations

import sys
import types
import unittest.mock
import uuid
from collections.abc import Iterator
from typing import Any

import langgraph.store.memory
import pytest

from stratamem.langgraph import StrataStore
from stratamem.testing import Server, server

LEFT_OUT = ("vector", "embed", "non_ascii", "batch_store", "dedupe_ops", "get_text_at_path", "True")

_running: list[Server] = []


class Substitute(StrataStore):
    """Each store is another user's."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(uuid.uuid4().hex, client=_running[0].address)


class Mocker:
    """What the tests use of pytest-mock."""

    def spy(self, owner: Any, name: str) -> Any:
        """A method that notes its calls and does what it did."""
        return unittest.mock.patch.object(owner, name, autospec=True, side_effect=getattr(owner, name)).start()


@pytest.fixture
def mocker() -> Iterator[Mocker]:
    yield Mocker()
    unittest.mock.patch.stopall()


def pytest_configure(config: pytest.Config) -> None:
    mock = types.ModuleType("pytest_mock")
    mock.MockerFixture = Mocker  # type: ignore[attr-defined]
    sys.modules["pytest_mock"] = mock
    started = server()
    _running.append(started.__enter__())
    config.add_cleanup(lambda: started.__exit__(None, None, None))
    langgraph.store.memory.InMemoryStore = Substitute  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [i for i in items if any(name in i.name for name in LEFT_OUT)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [i for i in items if i not in left_out]
