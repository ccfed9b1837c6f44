"""A server for tests: the real program on a file that goes with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stratamem.client import AsyncClient, Client

_START_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A running server."""

    address: str
    folder: Path  #: what it stores; deleted when it stops
    key: str = ""  #: the token of an admin, of a server with the flags --auth required --bootstrap-key

    def client(self) -> Client:
        """A client of it."""
        return Client(self.address, key=self.key)

    def async_client(self) -> AsyncClient:
        """A client of it for asyncio."""
        return AsyncClient(self.address, key=self.key)


def binary() -> str:
    """The program: STRATA_BINARY, else strata on the PATH."""
    found = os.environ.get("STRATA_BINARY") or shutil.which("strata")
    if not found:
        raise FileNotFoundError("there is no strata on the PATH: set STRATA_BINARY to the program, such as bin/strata of make build")
    return found


@contextlib.contextmanager
def server(*flags: str) -> Iterator[Server]:
    """Starts a server on a free port and a temporary file, and stops it after the block. Flags are those of strata serve; of this
    process's environment it takes no setting of the service."""
    with tempfile.TemporaryDirectory(prefix="stratamem-") as name:
        command = [binary(), "serve", "--data", f"{name}/strata.db", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", *flags]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA_")}
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = _Output(process)
        try:
            address, key = said.started()
            yield Server(address, Path(name), key)
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            said.thread.join()


class _Output:
    """Reads what the server prints, up to its address and on, so that it never waits for a reader."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._printed: list[str] = []
        self._started = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if not self._started.is_set():
                    self._printed.append(line)
                if line.startswith("stop with"):  # the last line of the start
                    self._started.set()
        self._started.set()

    def started(self) -> tuple[str, str]:
        """The address, and the token of the first key; RuntimeError with what was printed where there is no address."""
        self._started.wait(_START_SECONDS)
        words = [line.split() for line in self._printed]
        address = next((w[1] for w in words if w[:1] == ["address"] and len(w) > 1), "")
        if not address:
            raise RuntimeError("the server did not start:\n" + "".join(self._printed[-20:]))
        return address, next((w[0] for w in words if len(w) == 1 and w[0].startswith("strata_")), "")
