"""Whether what a file gives for a field is of the kind that the class declares.

Loading sets fields without calling constructors, so that a number could stand where an array belongs: much would go
well, by broadcasting, and end in a wrong prediction.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from paramax import AbstractUnwrappable


def misfit(cls: type, field: str, value: Any) -> str | None:
    """What is wrong with the value of a field, or None."""
    hint = _hints(cls).get(field, Any)
    return None if _fits(value, hint) else f"is of the type {type(value).__name__}, which it cannot be"


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(hint))
    if origin in (tuple, list):
        return isinstance(value, origin) and all(_fits(item, get_args(hint)[0]) for item in value)
    if hint is NoneType or hint is None:
        return value is None
    if hint is float:
        return type(value) in (int, float)
    if hint in (bool, int, str, slice):
        return type(value) is hint
    if hint is Any or isinstance(hint, TypeVar):
        # Trained quantities whose class does not say more: arrays, or parameters around them.
        return not (value is None or isinstance(value, bool | int | float | str))
    # A parameter that is held fixed is wrapped, wherever it stands.
    return isinstance(value, (hint, AbstractUnwrappable))
