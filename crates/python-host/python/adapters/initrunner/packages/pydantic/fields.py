"""The place that authors import `FieldInfo` from."""
from ._fields import Field, FieldInfo, PrivateAttr  # noqa: F401
