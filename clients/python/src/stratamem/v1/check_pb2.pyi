from stratamem.v1 import context_pb2 as _context_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECK_ACTION_UNSPECIFIED: _ClassVar[CheckAction]
    CHECK_ACTION_REMOVE: _ClassVar[CheckAction]
    CHECK_ACTION_REPLACE: _ClassVar[CheckAction]
    CHECK_ACTION_STRIP: _ClassVar[CheckAction]
    CHECK_ACTION_RETRY: _ClassVar[CheckAction]

class Markup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MARKUP_UNSPECIFIED: _ClassVar[Markup]
    MARKUP_HTML: _ClassVar[Markup]
    MARKUP_MARKDOWN: _ClassVar[Markup]
    MARKUP_CONTROL: _ClassVar[Markup]
CHECK_ACTION_UNSPECIFIED: CheckAction
CHECK_ACTION_REMOVE: CheckAction
CHECK_ACTION_REPLACE: CheckAction
CHECK_ACTION_STRIP: CheckAction
CHECK_ACTION_RETRY: CheckAction
MARKUP_UNSPECIFIED: Markup
MARKUP_HTML: Markup
MARKUP_MARKDOWN: Markup
MARKUP_CONTROL: Markup

class StopWords(_message.Message):
    __slots__ = ("words",)
    WORDS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, words: _Optional[_Iterable[str]] = ...) -> None: ...

class Patterns(_message.Message):
    __slots__ = ("expressions",)
    EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    expressions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, expressions: _Optional[_Iterable[str]] = ...) -> None: ...

class MaxLength(_message.Message):
    __slots__ = ("characters", "tokens")
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    characters: int
    tokens: int
    def __init__(self, characters: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class JsonText(_message.Message):
    __slots__ = ("schema",)
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    schema: str
    def __init__(self, schema: _Optional[str] = ...) -> None: ...

class MarkupKinds(_message.Message):
    __slots__ = ("kinds",)
    KINDS_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[Markup]
    def __init__(self, kinds: _Optional[_Iterable[_Union[Markup, str]]] = ...) -> None: ...

class CheckRule(_message.Message):
    __slots__ = ("name", "roles", "stop_words", "patterns", "max_length", "json", "markup", "action", "text", "hint")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    STOP_WORDS_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    MARKUP_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    name: str
    roles: _containers.RepeatedScalarFieldContainer[_message_pb2.Role]
    stop_words: StopWords
    patterns: Patterns
    max_length: MaxLength
    json: JsonText
    markup: MarkupKinds
    action: CheckAction
    text: str
    hint: str
    def __init__(self, name: _Optional[str] = ..., roles: _Optional[_Iterable[_Union[_message_pb2.Role, str]]] = ..., stop_words: _Optional[_Union[StopWords, _Mapping]] = ..., patterns: _Optional[_Union[Patterns, _Mapping]] = ..., max_length: _Optional[_Union[MaxLength, _Mapping]] = ..., json: _Optional[_Union[JsonText, _Mapping]] = ..., markup: _Optional[_Union[MarkupKinds, _Mapping]] = ..., action: _Optional[_Union[CheckAction, str]] = ..., text: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...

class CheckFinding(_message.Message):
    __slots__ = ("index", "message_id", "rule", "action", "removed", "hint")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    index: int
    message_id: str
    rule: str
    action: CheckAction
    removed: bool
    hint: str
    def __init__(self, index: _Optional[int] = ..., message_id: _Optional[str] = ..., rule: _Optional[str] = ..., action: _Optional[_Union[CheckAction, str]] = ..., removed: bool = ..., hint: _Optional[str] = ...) -> None: ...

class CheckMessagesRequest(_message.Message):
    __slots__ = ("messages", "profile", "rules", "model", "counter")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    profile: str
    rules: _containers.RepeatedCompositeFieldContainer[CheckRule]
    model: str
    counter: _context_pb2.TokenCounter
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., profile: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[CheckRule, _Mapping]]] = ..., model: _Optional[str] = ..., counter: _Optional[_Union[_context_pb2.TokenCounter, str]] = ...) -> None: ...

class CheckMessagesResponse(_message.Message):
    __slots__ = ("changed", "messages", "findings", "retry", "counter")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    findings: _containers.RepeatedCompositeFieldContainer[CheckFinding]
    retry: bool
    counter: str
    def __init__(self, changed: bool = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[CheckFinding, _Mapping]]] = ..., retry: bool = ..., counter: _Optional[str] = ...) -> None: ...
