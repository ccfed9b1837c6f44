"""Documents: JSON objects under namespaces and keys, with and without asyncio."""

from __future__ import annotations

import pytest

import stratamem
from stratamem import AsyncClient, Client, document_value

FOOD = ["memories", "food"]


def test_a_document_comes_back_as_it_was_put(client: Client, user: str) -> None:
    value = {"zeta": 2**60 + 1, "alpha": 0.1, "名": "된장찌개 🥘", "none": None, "list": [1, [True, {}]]}
    put = client.put_document(user, FOOD, "soup", value)
    found = client.document(user, FOOD, "soup")
    assert found is not None
    assert document_value(found) == value
    assert list(document_value(found)) == list(value), "in their order"
    assert (found.user_id, list(found.namespace), found.key, found.etag) == (user, FOOD, "soup", put.etag)


def test_where_there_is_none_it_is_none(client: Client, user: str) -> None:
    assert client.document(user, FOOD, "soup") is None
    assert list(client.list_documents(user)) == []
    assert list(client.find_documents(user, "soup").hits) == []
    assert client.delete_document(user, FOOD, "soup") is False


def test_a_deleted_document_is_gone(client: Client, user: str) -> None:
    client.put_document(user, FOOD, "soup", {"note": "leek"})
    assert client.delete_document(user, FOOD, "soup") is True
    assert client.document(user, FOOD, "soup") is None
    assert client.delete_document(user, FOOD, "soup") is False


def test_documents_are_found_by_words_prefix_and_filter(client: Client, user: str) -> None:
    client.put_document(user, FOOD, "breakfast", {"note": "Oat porridge with blueberries", "rating": 5})
    client.put_document(user, FOOD, "supper", {"note": "Leek soup", "rating": 3})
    client.put_document(user, ["plans"], "trip", {"note": "Pick blueberries in Evora"})
    hits = client.find_documents(user, "blueberries", namespace_prefix=["memories"], where={"rating": {"$gte": 4}}).hits
    assert [(h.document.key, document_value(h.document)["rating"]) for h in hits] == [("breakfast", 5)]
    assert 0 < hits[0].score <= 1
    assert [h.document.key for h in client.find_documents(user, page_size=2, offset=1).hits] == ["supper", "breakfast"]


def test_documents_are_listed_page_by_page(client: Client, user: str) -> None:
    for n in range(7):
        client.put_document(user, FOOD, f"dish{n}", {"n": n})
    client.put_document(user, ["plans"], "trip", {})
    listed = client.list_documents(user, ["memories"], page_size=3)
    assert [(d.key, document_value(d)["n"]) for d in listed] == [(f"dish{n}", n) for n in range(7)]


def test_a_read_renews_the_time_to_live_unless_it_is_told_not_to(client: Client, user: str) -> None:
    put = client.put_document(user, FOOD, "soup", {}, ttl=90.5)
    assert put.expire_time.ToNanoseconds() - put.update_time.ToNanoseconds() == 90_500_000_000
    kept = client.document(user, FOOD, "soup", keep_ttl=True)
    assert kept is not None
    assert kept.expire_time == put.expire_time
    renewed = client.document(user, FOOD, "soup")
    assert renewed is not None
    assert renewed.expire_time.ToNanoseconds() > put.expire_time.ToNanoseconds()


def test_a_lost_update_is_refused_by_the_etag(client: Client, user: str) -> None:
    first = client.put_document(user, FOOD, "soup", {"n": 1})
    client.put_document(user, FOOD, "soup", {"n": 2}, etag=first.etag)
    with pytest.raises(stratamem.Conflict):
        client.put_document(user, FOOD, "soup", {"n": 3}, etag=first.etag)


def test_a_value_counts_without_the_spaces_of_its_text(client: Client, user: str) -> None:
    largest = {"a": "x", "b": "x" * (64 * 1024 - 16)}
    client.put_document(user, FOOD, "soup", largest)
    with pytest.raises(stratamem.InvalidArgument, match="65537 bytes; the limit is 65536"):
        client.put_document(user, FOOD, "soup", {**largest, "a": "xx"})


def test_what_is_wrong_with_a_document_is_said(client: Client, user: str) -> None:
    with pytest.raises(stratamem.InvalidArgument) as wrong:
        client.put_document(user, [], "soup", {})
    assert wrong.value.field == "document.namespace"
    with pytest.raises(ValueError, match="not JSON compliant"):
        client.put_document(user, FOOD, "soup", {"n": float("nan")})
    assert client.document(user, FOOD, "soup") is None


async def test_the_same_with_asyncio(aclient: AsyncClient, user: str) -> None:
    assert await aclient.document(user, FOOD, "supper") is None
    await aclient.put_document(user, FOOD, "breakfast", {"note": "Oat porridge with blueberries", "rating": 5})
    put = await aclient.put_document(user, FOOD, "supper", {"note": "Leek soup", "rating": 3}, ttl=60)
    assert put.ttl.seconds == 60
    found = await aclient.document(user, FOOD, "supper")
    assert found is not None
    assert document_value(found) == {"note": "Leek soup", "rating": 3}
    hits = (await aclient.find_documents(user, "leek soup", namespace_prefix=["memories"], where={"rating": 3})).hits
    assert [h.document.key for h in hits] == ["supper"]
    assert [d.key async for d in aclient.list_documents(user, page_size=1)] == ["breakfast", "supper"]
    assert await aclient.delete_document(user, FOOD, "supper") is True
    assert await aclient.delete_document(user, FOOD, "supper") is False


def test_a_namespace_that_is_one_text_is_refused(client: Client, user: str) -> None:
    with pytest.raises(TypeError, match="list of labels"):
        client.put_document(user, "food", "k", {"a": 1})
    with pytest.raises(TypeError, match="list of labels"):
        client.find_documents(user, namespace_prefix="food")
