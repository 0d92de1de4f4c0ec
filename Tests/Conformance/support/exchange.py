"""One request over HTTP, for clients that may stop waiting and servers that may be killed."""

import asyncio
import json


async def exchange(server, method, path, body=None, token=None):
    """Returns the status and the JSON. `body` is bytes, any value to be encoded as JSON, or `None` for no body."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n{authorization}"
            f"Connection: close\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = int(head.split(" ", 2)[1])
        length = [line for line in head.split("\r\n") if line.startswith("content-length:")]
        body = await reader.readexactly(int(length[0].split(":")[1])) if length else b""
        return status, json.loads(body) if body and "\r\ncontent-type: application/json" in head else None
    finally:
        writer.transport.abort()
