"""LangMem's search tool over LangGraph's SqliteStore with sqlite-vec, which strata-bench measures SearchFacts beside.

Arguments: the database, the dimension, how many memories, a file of texts (a JSON array, the memories first, then the
queries) and one of their vectors (32-bit floats, little-endian, in the same order). The embedder is a dictionary of these:
it takes no time and makes no call. It fills the store and prints "ready"; then it reads the index of a query a line and
prints how many microseconds the tool and the store alone took for it, and how many memories the tool found.
"""

from __future__ import annotations

import array
import json
import sys
import time
import uuid

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore
from langmem import create_search_memory_tool

NAMESPACE = ("memories", "bench")
AT_ONCE = 500  # memories of one write
LIMIT = 20  # as many as SearchFacts returns


class Known(Embeddings):
    """The vectors of texts that are known beforehand."""

    def __init__(self, texts: list[str], vectors: array.array, dimension: int) -> None:
        self.of = {t: vectors[i * dimension : (i + 1) * dimension].tolist() for i, t in enumerate(texts)}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.of[t] for t in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.of[text]


def main(database: str, dimension: int, memories: int, texts_file: str, vectors_file: str) -> None:
    with open(texts_file, encoding="utf-8") as f:
        texts = json.load(f)
    vectors = array.array("f")
    with open(vectors_file, "rb") as f:
        vectors.frombytes(f.read())
    if sys.byteorder == "big":
        vectors.byteswap()
    index = {"dims": dimension, "embed": Known(texts, vectors, dimension), "text_fields": ["content"]}
    with SqliteStore.from_conn_string(database, index=index) as store:
        store.setup()
        for i in range(0, memories, AT_ONCE):
            some = texts[i : min(i + AT_ONCE, memories)]
            store.batch([PutOp(NAMESPACE, str(uuid.uuid4()), {"content": t}) for t in some])
        tool = create_search_memory_tool(NAMESPACE, store=store)
        print("ready", flush=True)
        for line in sys.stdin:
            query = texts[memories + int(line)]
            start = time.perf_counter_ns()
            found = tool.invoke({"query": query, "limit": LIMIT})
            tool_us = (time.perf_counter_ns() - start) / 1e3
            start = time.perf_counter_ns()
            store.search(NAMESPACE, query=query, limit=LIMIT)
            store_us = (time.perf_counter_ns() - start) / 1e3
            print(json.dumps({"tool_us": tool_us, "store_us": store_us, "found": len(json.loads(found))}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
