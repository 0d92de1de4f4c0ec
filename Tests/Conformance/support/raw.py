"""A WebSocket by hand: for frames that no proper client sends, and for clients that answer nothing."""

import asyncio
import base64
import json
import os
import socket
import struct

from .patience import PATIENCE

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


def frame(opcode, payload=b"", final=True, masked=True, reserved=0):
    first = (0x80 if final else 0) | (reserved << 4) | opcode
    mask_bit = 0x80 if masked else 0
    if len(payload) < 126:
        head = struct.pack("!BB", first, mask_bit | len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", first, mask_bit | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, mask_bit | 127, len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    pad = (mask * (len(payload) // 4 + 1))[:len(payload)]
    body = (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(payload), "big")
    return head + mask + body


def text(message):
    """The frame of a text message: an object, a text, or bytes that are not valid text."""
    if isinstance(message, dict):
        message = json.dumps(message)
    return frame(TEXT, message.encode() if isinstance(message, str) else message)


class RawSocket:
    """It answers nothing by itself, not even pings; input is read only on request."""

    def __init__(self, server, tls=None):
        """`tls`: the context of its connection."""
        self.server, self.tls = server, tls

    async def dial(self, receive_buffer=None):
        """Opens the connection only."""
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, (self.server.host, self.server.port))
        options = {"ssl": self.tls, "server_hostname": "localhost"} if self.tls else {}
        self.reader, self.writer = await asyncio.open_connection(sock=plain, limit=2**16, **options)
        return self

    def upgrade(self, headers=(), path="/v1/ws", protocol="presence.v1", key=None):
        """The bytes of the upgrade request."""
        lines = [
            f"GET {path} HTTP/1.1", f"Host: {self.server.host}:{self.server.port}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key or base64.b64encode(os.urandom(16)).decode()}", *headers]
        if protocol:
            lines.append(f"Sec-WebSocket-Protocol: {protocol}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def shake_hands(self, **options):
        """Upgrades and returns status and headers (names in lower case)."""
        await self.write(self.upgrade(**options))
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        first, *rest = head.decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in rest if ": " in line)
        return int(first.split()[1]), {name.lower(): value for name, value in headers.items()}

    async def open(self, receive_buffer=None, **options):
        await self.dial(receive_buffer)
        status, _ = await self.shake_hands(**options)
        assert status == 101, status
        return self

    async def connect(self, token, **members):
        """Sends `connect` and waits for `connected`."""
        await self.write(text({"type": "connect", "id": 1, "token": token} | members))
        reply = await self.read_message()
        assert reply["type"] == "connected", reply
        return reply

    async def write(self, data):
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    def stop_reading(self):
        """Stops reading from the kernel, whose buffers fill."""
        self.writer.transport.pause_reading()

    def go_on_reading(self):
        if not self.writer.transport.is_closing():
            self.writer.transport.resume_reading()

    async def read_frame(self):
        """Opcode and payload of the next frame, or (None, b"") at the end of the stream."""
        try:
            head = await self.reader.readexactly(2)
            length = head[1] & 0x7F
            if length == 126:
                length = struct.unpack("!H", await self.reader.readexactly(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", await self.reader.readexactly(8))[0]
            return head[0] & 0x0F, await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None, b""

    async def read_message(self, within=PATIENCE):
        """The next text message; control frames are skipped."""
        async def next_text():
            while True:
                opcode, payload = await self.read_frame()
                if opcode == TEXT:
                    return json.loads(payload)
                assert opcode in (PING, PONG), f"opcode {opcode} {payload!r} instead of a message"
        return await asyncio.wait_for(next_text(), within)

    async def closed(self, within=PATIENCE):
        """Reads to the end and returns the code of the close frame: None without one, 1005 for one without a code."""
        async def last():
            code = None
            while True:
                opcode, payload = await self.read_frame()
                if opcode is None:
                    return code
                if opcode == CLOSE:
                    code = struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else 1005
                    self.reason = payload[2:].decode(errors="replace")
                    self.writer.write(frame(CLOSE, payload[:2]))
        return await asyncio.wait_for(last(), within)

    def abort(self):
        self.writer.transport.abort()
