"""Requests and answers of histories; a test gives only the fields that matter to it."""

from __future__ import annotations

from typing import Any

from msgspec import inspect

from protocol.messages import Operation


def asked(kind: type[Operation[Any]], given: dict[str, Any]) -> dict[str, Any]:
    """Return a request with blank values for all required fields that are not given."""
    filled: dict[str, Any] = _filled(inspect.type_info(kind), given)
    return filled


def answered(kind: type[Operation[Any]], given: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with blank values for all required fields that are not given."""
    filled: dict[str, Any] = _filled(inspect.type_info(kind.answer), given)
    return filled


def _filled(kind: inspect.Type, given: Any) -> Any:
    match kind, given:
        case inspect.UnionType(types=types), dict():
            return next((_filled(one, given) for one in types if isinstance(one, inspect.StructType)), given)
        case inspect.UnionType(types=types), list() | tuple():
            return next((_filled(one, given) for one in types if not isinstance(one, inspect.NoneType)), given)
        case inspect.StructType(fields=fields), dict():
            blank = {one.encode_name: _blank(one.type) for one in fields if one.required}
            kinds = {one.encode_name: one.type for one in fields}
            return blank | {name: _filled(kinds[name], one) if name in kinds else one for name, one in given.items()}
        case inspect.CollectionType() | inspect.VarTupleType(), list() | tuple():
            return [_filled(kind.item_type, one) for one in given]
    return given


def _blank(kind: inspect.Type) -> Any:
    match kind:
        case inspect.UnionType(types=types):
            return None if any(isinstance(one, inspect.NoneType) for one in types) else _blank(types[0])
        case inspect.StructType():
            return _filled(kind, {})
        case inspect.CollectionType() | inspect.VarTupleType() | inspect.TupleType():
            return []
        case inspect.DictType():
            return {}
        case inspect.StrType() | inspect.BytesType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.UUIDType():
            return "00000000-0000-0000-0000-000000000001"
    return 0
