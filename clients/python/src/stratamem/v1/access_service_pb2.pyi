import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import work_service_pb2 as _work_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_ROLE_UNSPECIFIED: _ClassVar[KeyRole]
    KEY_ROLE_AGENT: _ClassVar[KeyRole]
    KEY_ROLE_USER: _ClassVar[KeyRole]
    KEY_ROLE_OPERATOR: _ClassVar[KeyRole]
    KEY_ROLE_ADMIN: _ClassVar[KeyRole]
KEY_ROLE_UNSPECIFIED: KeyRole
KEY_ROLE_AGENT: KeyRole
KEY_ROLE_USER: KeyRole
KEY_ROLE_OPERATOR: KeyRole
KEY_ROLE_ADMIN: KeyRole

class Key(_message.Message):
    __slots__ = ("key_id", "tenant", "role", "user_id", "name", "prefix", "create_time", "expire_time", "revoke_time", "last_use_time", "old_token_expire_time")
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    REVOKE_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_USE_TIME_FIELD_NUMBER: _ClassVar[int]
    OLD_TOKEN_EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    key_id: str
    tenant: str
    role: KeyRole
    user_id: str
    name: str
    prefix: str
    create_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    revoke_time: _timestamp_pb2.Timestamp
    last_use_time: _timestamp_pb2.Timestamp
    old_token_expire_time: _timestamp_pb2.Timestamp
    def __init__(self, key_id: _Optional[str] = ..., tenant: _Optional[str] = ..., role: _Optional[_Union[KeyRole, str]] = ..., user_id: _Optional[str] = ..., name: _Optional[str] = ..., prefix: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoke_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_use_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., old_token_expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateKeyRequest(_message.Message):
    __slots__ = ("tenant", "role", "user_id", "name", "ttl")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    role: KeyRole
    user_id: str
    name: str
    ttl: _duration_pb2.Duration
    def __init__(self, tenant: _Optional[str] = ..., role: _Optional[_Union[KeyRole, str]] = ..., user_id: _Optional[str] = ..., name: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class CreateKeyResponse(_message.Message):
    __slots__ = ("key", "token")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    key: Key
    token: str
    def __init__(self, key: _Optional[_Union[Key, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class ListKeysRequest(_message.Message):
    __slots__ = ("tenant", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    page_size: int
    page_token: str
    def __init__(self, tenant: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListKeysResponse(_message.Message):
    __slots__ = ("keys", "next_page_token")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[Key]
    next_page_token: str
    def __init__(self, keys: _Optional[_Iterable[_Union[Key, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RotateKeyRequest(_message.Message):
    __slots__ = ("tenant", "key_id", "grace")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    key_id: str
    grace: _duration_pb2.Duration
    def __init__(self, tenant: _Optional[str] = ..., key_id: _Optional[str] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RotateKeyResponse(_message.Message):
    __slots__ = ("key", "token")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    key: Key
    token: str
    def __init__(self, key: _Optional[_Union[Key, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class RevokeKeyRequest(_message.Message):
    __slots__ = ("tenant", "key_id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    key_id: str
    def __init__(self, tenant: _Optional[str] = ..., key_id: _Optional[str] = ...) -> None: ...

class RevokeKeyResponse(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: Key
    def __init__(self, key: _Optional[_Union[Key, _Mapping]] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("tenant", "suspend_time", "limits", "default_profile", "erasure", "models")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_TIME_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PROFILE_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    suspend_time: _timestamp_pb2.Timestamp
    limits: TenantLimits
    default_profile: str
    erasure: TenantErasure
    models: TenantModels
    def __init__(self, tenant: _Optional[str] = ..., suspend_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limits: _Optional[_Union[TenantLimits, _Mapping]] = ..., default_profile: _Optional[str] = ..., erasure: _Optional[_Union[TenantErasure, _Mapping]] = ..., models: _Optional[_Union[TenantModels, _Mapping]] = ...) -> None: ...

class TenantModels(_message.Message):
    __slots__ = ("chat_base_url", "chat_key", "summary_model", "extraction_model")
    CHAT_BASE_URL_FIELD_NUMBER: _ClassVar[int]
    CHAT_KEY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_MODEL_FIELD_NUMBER: _ClassVar[int]
    EXTRACTION_MODEL_FIELD_NUMBER: _ClassVar[int]
    chat_base_url: str
    chat_key: str
    summary_model: str
    extraction_model: str
    def __init__(self, chat_base_url: _Optional[str] = ..., chat_key: _Optional[str] = ..., summary_model: _Optional[str] = ..., extraction_model: _Optional[str] = ...) -> None: ...

class TenantErasure(_message.Message):
    __slots__ = ("create_time", "done_time", "users", "stores")
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DONE_TIME_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    create_time: _timestamp_pb2.Timestamp
    done_time: _timestamp_pb2.Timestamp
    users: int
    stores: _containers.RepeatedCompositeFieldContainer[_work_service_pb2.StoreReceipt]
    def __init__(self, create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., done_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., users: _Optional[int] = ..., stores: _Optional[_Iterable[_Union[_work_service_pb2.StoreReceipt, _Mapping]]] = ...) -> None: ...

class TenantExtent(_message.Message):
    __slots__ = ("users", "messages", "keys")
    USERS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    users: int
    messages: int
    keys: int
    def __init__(self, users: _Optional[int] = ..., messages: _Optional[int] = ..., keys: _Optional[int] = ...) -> None: ...

class EraseTenantRequest(_message.Message):
    __slots__ = ("tenant", "wait", "validate_only")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    wait: _duration_pb2.Duration
    validate_only: bool
    def __init__(self, tenant: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., validate_only: bool = ...) -> None: ...

class EraseTenantResponse(_message.Message):
    __slots__ = ("tenant", "extent")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    extent: TenantExtent
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ..., extent: _Optional[_Union[TenantExtent, _Mapping]] = ...) -> None: ...

class TenantLimits(_message.Message):
    __slots__ = ("tenant_requests_per_second", "user_requests_per_second", "key_requests_per_second", "tenant_bytes_per_second", "user_bytes_per_second", "key_bytes_per_second", "tenant_model_tokens_per_day", "tenant_cost_per_day", "tenant_cost_per_month", "tenant_messages", "user_messages")
    TENANT_REQUESTS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    USER_REQUESTS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    KEY_REQUESTS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    TENANT_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    USER_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    KEY_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    TENANT_MODEL_TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TENANT_COST_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TENANT_COST_PER_MONTH_FIELD_NUMBER: _ClassVar[int]
    TENANT_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    tenant_requests_per_second: float
    user_requests_per_second: float
    key_requests_per_second: float
    tenant_bytes_per_second: float
    user_bytes_per_second: float
    key_bytes_per_second: float
    tenant_model_tokens_per_day: float
    tenant_cost_per_day: float
    tenant_cost_per_month: float
    tenant_messages: float
    user_messages: float
    def __init__(self, tenant_requests_per_second: _Optional[float] = ..., user_requests_per_second: _Optional[float] = ..., key_requests_per_second: _Optional[float] = ..., tenant_bytes_per_second: _Optional[float] = ..., user_bytes_per_second: _Optional[float] = ..., key_bytes_per_second: _Optional[float] = ..., tenant_model_tokens_per_day: _Optional[float] = ..., tenant_cost_per_day: _Optional[float] = ..., tenant_cost_per_month: _Optional[float] = ..., tenant_messages: _Optional[float] = ..., user_messages: _Optional[float] = ...) -> None: ...

class TenantUsage(_message.Message):
    __slots__ = ("model_tokens_today", "cost_today", "cost_this_month", "messages")
    MODEL_TOKENS_TODAY_FIELD_NUMBER: _ClassVar[int]
    COST_TODAY_FIELD_NUMBER: _ClassVar[int]
    COST_THIS_MONTH_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    model_tokens_today: int
    cost_today: float
    cost_this_month: float
    messages: int
    def __init__(self, model_tokens_today: _Optional[int] = ..., cost_today: _Optional[float] = ..., cost_this_month: _Optional[float] = ..., messages: _Optional[int] = ...) -> None: ...

class GetTenantRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class GetTenantResponse(_message.Message):
    __slots__ = ("tenant", "limits", "usage")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    limits: TenantLimits
    usage: TenantUsage
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ..., limits: _Optional[_Union[TenantLimits, _Mapping]] = ..., usage: _Optional[_Union[TenantUsage, _Mapping]] = ...) -> None: ...

class UpdateTenantRequest(_message.Message):
    __slots__ = ("tenant", "update_mask")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateTenantResponse(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ...) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTenantsResponse(_message.Message):
    __slots__ = ("tenants", "next_page_token")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[Tenant]
    next_page_token: str
    def __init__(self, tenants: _Optional[_Iterable[_Union[Tenant, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SuspendTenantRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class SuspendTenantResponse(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ...) -> None: ...

class ResumeTenantRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class ResumeTenantResponse(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ...) -> None: ...
