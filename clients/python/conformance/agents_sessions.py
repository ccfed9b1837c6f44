"""A plugin of pytest that has the OpenAI Agents SDK's own tests of sessions make a StrataSession wherever they make an SQLiteSession,
and leaves out those about what is SQLite's own."""

from __future__ import annotations

import uuid
from typing import Any

import agents
import agents.memory
import pytest

from stratamem.openai_agents import StrataSession
from stratamem.testing import Server, server

# Tests that reach into SQLiteSession: its connections and threads, its locks, and rows that they write or drop by SQL; and one that wants
# its name in the error of a session that is closed.
INTERNALS = (
    "closed_rejects_empty_add_items",
    "close_closes_worker_thread_connections",
    "reaps_connections_from_exited_worker_threads",
    "closes_retired_connections_before_the_next_allocation",
    "keeps_connections_of_live_worker_threads",
    "pop_item_skips_corrupt_most_recent",
    "pop_item_returns_none_after_dropping_only_corrupt_rows",
    "get_items_limit_skips_corrupt_newest_rows",
    "get_items_session_settings_limit_skips_corrupt_rows",
    "file_lock_is_shared_across_instances",
    "failed_add_items_releases_write_lock",
    "failed_clear_session_rolls_back",
    "failed_pop_item_releases_write_lock",
    "rollback_failure_evicts_connection",
    "close_retries_quarantined_connection",
    "post_commit_cancellation_propagates_after_known_outcome",
)

_running: list[Server] = []


class Substitute(StrataSession):
    """A path of a database stands for a user: two sessions of one id and path hold the same items, and :memory: holds its own."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", *args: Any, **kwargs: Any) -> None:
        user = uuid.uuid4().hex if str(db_path) == ":memory:" else uuid.uuid5(uuid.NAMESPACE_URL, str(db_path)).hex
        super().__init__(session_id, user, _running[0].address, session_settings=kwargs.get("session_settings"))

    def close(self) -> None:  # type: ignore[override]  # SQLiteSession's is no coroutine
        self._loops._closed = True


def pytest_configure(config: pytest.Config) -> None:
    started = server()
    _running.append(started.__enter__())
    config.add_cleanup(lambda: started.__exit__(None, None, None))
    agents.SQLiteSession = agents.memory.SQLiteSession = Substitute  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [i for i in items if any(name in i.name for name in INTERNALS)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [i for i in items if i not in left_out]
