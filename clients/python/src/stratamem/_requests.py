"""Requests as programs without a type checker make them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


def made(kind: type[M], **fields: Any) -> M:
    """The request of these fields. A text that is no value of a field's enum is refused with those there are: protobuf says only
    that it is unknown."""
    _check_enums(cast("Descriptor", kind.DESCRIPTOR), fields, "")
    return kind(**fields)


def _check_enums(of: Descriptor, fields: Mapping[str, Any], path: str) -> None:
    for name, value in fields.items():
        f = of.fields_by_name.get(name)
        if f is None:  # protobuf names it
            continue
        for item in _items(value):
            if f.enum_type is not None and isinstance(item, str) and item not in f.enum_type.values_by_name:
                raise ValueError(f"{path}{name}: {item!r} is none of {_names(f.enum_type)}, which v1 has")
            if f.message_type is not None and isinstance(item, Mapping) and not f.message_type.GetOptions().map_entry:
                _check_enums(f.message_type, item, f"{path}{name}.")


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _names(of: EnumDescriptor) -> str:
    return ", ".join(v.name for v in of.values if v.number != 0)
