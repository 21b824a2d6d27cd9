"""Stands in for pydantic where that is not installed: models as the configuration of tools needs them.

On the standard library alone. Where the real package is there, this one is not used.
"""
from typing import Annotated

from brynhild._models import ValidationError

from ._fields import AliasChoices, Field, FieldInfo, PrivateAttr
from ._models import BaseModel, ConfigDict, TypeAdapter, create_model
from ._texts import AnyHttpUrl, AnyUrl, EmailStr, HttpUrl, SecretBytes, SecretStr
from ._validators import (
    AfterValidator,
    BeforeValidator,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
    validator,
)

VERSION = __version__ = "2.0.0"

PositiveInt = Annotated[int, Field(gt=0)]
NonNegativeInt = Annotated[int, Field(ge=0)]
NegativeInt = Annotated[int, Field(lt=0)]
NonPositiveInt = Annotated[int, Field(le=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
NonNegativeFloat = Annotated[float, Field(ge=0)]
StrictStr, StrictInt, StrictFloat, StrictBool = str, int, float, bool


def __getattr__(name):
    """Whatever else is wanted is in the real package alone."""
    if name.startswith("__"):
        raise AttributeError(name)
    words = "%s is not here: this stands in for pydantic, which is not installed" % name
    raise ModuleNotFoundError(words, name="pydantic")


__all__ = [
    "AfterValidator",
    "AliasChoices",
    "AnyHttpUrl",
    "AnyUrl",
    "BaseModel",
    "BeforeValidator",
    "ConfigDict",
    "EmailStr",
    "Field",
    "FieldInfo",
    "HttpUrl",
    "PrivateAttr",
    "SecretBytes",
    "SecretStr",
    "TypeAdapter",
    "ValidationError",
    "computed_field",
    "create_model",
    "field_serializer",
    "field_validator",
    "model_serializer",
    "model_validator",
    "validator",
]
