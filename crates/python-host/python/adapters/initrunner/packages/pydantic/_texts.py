"""Texts of particular kinds."""


class SecretStr:
    """A text that does not show itself."""

    def __init__(self, value):
        self._value = value.get_secret_value() if isinstance(value, SecretStr) else value

    def get_secret_value(self):
        """The text itself."""
        return self._value

    def __str__(self):
        return "**********" if self._value else ""

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, str(self))

    def __len__(self):
        return len(self._value)

    def __eq__(self, other):
        return isinstance(other, SecretStr) and other._value == self._value

    def __hash__(self):
        return hash(self._value)

    @classmethod
    def model_json_schema(cls):
        """What it looks like in JSON."""
        return {"type": "string", "format": "password", "writeOnly": True}

    @classmethod
    def model_validate(cls, value):
        """One from a text."""
        if isinstance(value, (str, bytes, SecretStr)):
            return cls(value)
        from brynhild._models import ValidationError

        message = "Input should be a valid string"
        raise ValidationError(cls.__name__, [{"type": "string_type", "loc": (), "msg": message, "input": value}])

    def model_dump(self, **_):
        """What it shows."""
        return str(self)


class SecretBytes(SecretStr):
    """Bytes that do not show themselves."""


class AnyUrl(str):
    """The address of something."""

    schemes = None

    def __new__(cls, value):
        from urllib.parse import urlsplit

        parts = urlsplit(value)
        if not parts.scheme or (cls.schemes and (parts.scheme not in cls.schemes or not parts.netloc)):
            from brynhild._models import Fault

            raise Fault("url_parsing", "Input should be a valid URL", value)
        return super().__new__(cls, value)

    @property
    def scheme(self):
        """What it begins with."""
        return self.partition(":")[0]

    @property
    def host(self):
        """Where it leads."""
        from urllib.parse import urlsplit

        return urlsplit(self).hostname


class AnyHttpUrl(AnyUrl):
    """The address of a page."""

    schemes = ("http", "https")


class HttpUrl(AnyHttpUrl):
    """The address of a page."""


class EmailStr(str):
    """The address of a person."""
