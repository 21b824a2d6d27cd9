"""A small HTTP client on asyncio's streams: one request a connection, bodies read line by line or whole."""
from __future__ import annotations

import asyncio as _asyncio
import json as _json
import urllib.parse as _parse

_HEAD_LIMIT = 1 << 20
_BODY_LIMIT = 64 << 20


class HTTPError(Exception):
    """An answer with a status of 400 or above, or none that can be read."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__("HTTP %d: %s" % (status, body[:500]))
        self.status = status
        self.body = body


async def request_json(method: str, url: str, body=None, headers=None, timeout: float = 120.0):
    """The JSON of an answer."""
    async with Exchange(method, url, body, headers, timeout) as exchange:
        return _json.loads(await exchange.read())


class Exchange:
    """One request and its answer, closed at the end."""

    def __init__(self, method, url, body=None, headers=None, timeout=120.0):
        self._parts = _parse.urlsplit(url)
        self._method = method
        self._body = b"" if body is None else _json.dumps(body).encode()
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._left = None
        self._chunked = False

    async def __aenter__(self):
        try:
            await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_error):
        writer = getattr(self, "_writer", None)
        if writer is not None:
            writer.close()

    async def read(self) -> bytes:
        """The whole body."""
        pieces, size = [], 0
        async for piece in self._pieces():
            pieces.append(piece)
            size += len(piece)
            if size > _BODY_LIMIT:
                raise HTTPError(0, "the answer is larger than %d bytes" % _BODY_LIMIT)
        return b"".join(pieces)

    async def lines(self):
        """The body line by line, as it comes."""
        rest = b""
        async for piece in self._pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip("\r")
        if rest:
            yield rest.decode("utf-8", "replace").rstrip("\r")

    async def _open(self):
        secure = self._parts.scheme == "https"
        host, port = self._parts.hostname, self._parts.port or (443 if secure else 80)
        opening = _asyncio.open_connection(host, port, ssl=secure or None, limit=_HEAD_LIMIT)
        self._reader, self._writer = await self._wait(opening)
        self._writer.write(self._head() + self._body)
        await self._wait(self._writer.drain())
        status = await self._read_head()
        if status >= 400:
            raise HTTPError(status, (await self.read()).decode("utf-8", "replace"))

    def _head(self):
        target = self._parts.path or "/"
        if self._parts.query:
            target += "?" + self._parts.query
        headers = {
            "Host": self._parts.netloc.rpartition("@")[2],
            "Accept": "*/*",
            "Connection": "close",
            "Content-Length": str(len(self._body)),
            **({"Content-Type": "application/json"} if self._body else {}),
            **self._headers,
        }
        lines = ["%s %s HTTP/1.1" % (self._method, target)]
        for name, value in headers.items():
            if "\r" in value or "\n" in value:
                raise ValueError("a header may not contain a line break: %s" % name)
            lines.append("%s: %s" % (name, value))
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def _read_head(self):
        head = (await self._wait(self._reader.readuntil(b"\r\n\r\n"))).decode("latin-1").split("\r\n")
        words = head[0].split(" ")
        if len(words) < 2 or not words[1].isdigit():
            raise HTTPError(0, "not an HTTP answer: %.100r" % head[0])
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        self._chunked = "chunked" in fields.get("transfer-encoding", "").lower()
        length = fields.get("content-length", "")
        self._left = int(length) if length.isdigit() and not self._chunked else None
        return int(words[1])

    async def _pieces(self):
        while not self._chunked and self._left != 0:
            piece = await self._wait(self._reader.read(65536 if self._left is None else min(65536, self._left)))
            if not piece:
                if self._left:
                    raise HTTPError(0, "the answer ended early")
                return
            if self._left is not None:
                self._left -= len(piece)
            yield piece
        while self._chunked:
            size = int((await self._wait(self._reader.readline())).split(b";")[0].strip() or b"0", 16)
            if size == 0:
                return
            yield await self._wait(self._reader.readexactly(size))
            await self._wait(self._reader.readline())

    async def _wait(self, awaitable):
        return await _asyncio.wait_for(awaitable, self._timeout)
