"""The channel to Brynhild: one JSON object a line. Knows bytes and JSON, nothing about requests."""
import os

LINE_LIMIT = 60 * 1024 * 1024
_CHUNK = 1 << 16
_DEPTH = 100
_WIDEST_INTEGER = 1000


class TooLong(ValueError):
    """A message that does not fit into one line."""


class Channel:
    """Both directions of the pipe, with whole lines in `lines`."""

    def __init__(self, incoming, outgoing):
        self.incoming = incoming
        self.outgoing = outgoing
        self.lines = []
        self._pieces = []
        self._forked = False
        os.set_blocking(incoming, True)
        os.set_blocking(outgoing, True)
        os.register_at_fork(after_in_child=self._abandon)

    def fill(self):
        """Read once; false at the end of input, or when the plugin closed it."""
        try:
            data = os.read(self.incoming, _CHUNK)
        except OSError:
            return False
        if not data:
            return False
        self._pieces.append(data)
        if b"\n" in data:
            lines = b"".join(self._pieces).split(b"\n")
            rest = lines.pop()
            self._pieces = [rest] if rest else []
            self.lines.extend(line for line in lines if line)
        return True

    def send(self, message):
        """Write one message; a forked child that comes here ends instead, as does a worker nobody listens to."""
        if self._forked:
            os._exit(0)
        data = to_bytes(message)
        if len(data) > LINE_LIMIT:
            raise TooLong("the answer has %d bytes, more than the %d that fit" % (len(data), LINE_LIMIT))
        try:
            written = os.write(self.outgoing, data)
            while written < len(data):
                data = memoryview(data)[written:]
                written = os.write(self.outgoing, data)
        except OSError:
            os._exit(1)

    def _abandon(self):
        self._forked = True
        for descriptor in (self.incoming, self.outgoing):
            try:
                os.close(descriptor)
            except OSError:
                pass


def to_bytes(message):
    """One line of UTF-8; what JSON has no word for is replaced (see `plain`)."""
    try:
        text = _dumps(message)
    except (TypeError, ValueError, RecursionError):
        text = _dumps(plain(message))
    try:
        return (text + "\n").encode()
    except UnicodeEncodeError:
        return (mend(text) + "\n").encode()


def mend(text):
    """The text with surrogate pairs joined and lone surrogates replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain(value, depth=0):
    """A copy that JSON can express: numbers that are none become null, unknown objects their `repr`."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _WIDEST_INTEGER else hex(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if depth < _DEPTH:
        if isinstance(value, dict):
            return {_key(key): plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain(item, depth + 1) for item in value]
    return safe_repr(value)


def safe_repr(value):
    """`repr`, also of objects whose `__repr__` raises or never ends."""
    try:
        return repr(value)
    except Exception as error:
        return "<%s whose repr raises %s>" % (type(value).__name__, type(error).__name__)


def _key(key):
    return key if isinstance(key, str) else safe_repr(key)


class _Decoding:
    """What the C scanner reads its options from."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


def _refuse(value):
    raise TypeError("%s is not JSON" % type(value).__name__)


try:
    # Straight to the accelerator of `json`: the package around it costs more to import than all of this host.
    from _json import encode_basestring, make_encoder, make_scanner

    _scan = make_scanner(_Decoding)
    _chunks = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)
except (ImportError, TypeError, AttributeError):
    import json

    def _dumps(message):
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    from_text = json.loads
else:

    def _dumps(message):
        return "".join(_chunks(message, 0))

    def from_text(text):
        """The value of one line of JSON."""
        try:
            value, end = _scan(text, 0)
        except (StopIteration, SystemError):
            # The scanner's own error class lives in `json`, which is not loaded here.
            raise ValueError("not JSON") from None
        if text[end:].strip():
            raise ValueError("more than one JSON value in a line")
        return value
