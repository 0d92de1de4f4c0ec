"""The server's HTTP, with one connection for each request."""

import asyncio
import http.client
import json
from urllib.parse import quote


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


def path(*parts):
    """`/v1/…` of parts that are percent-encoded."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


class API:
    def __init__(self, server):
        self.server = server

    def call(self, method, path, body, headers):
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())
        finally:
            connection.close()

    async def request(self, method, path, body=None, token=None, headers=None):
        """`body` is bytes, or anything that becomes JSON."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        return await asyncio.to_thread(self.call, method, path, body, headers)

    async def metric(self, name_part, **labels):
        """The sum of the samples whose name contains a text and that have these labels."""
        page = (await self.request("GET", "/metrics")).body
        wanted = [f'{name}="{value}"' for name, value in labels.items()]
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                   if not line.startswith("#") and name_part in line.split("{")[0].split(" ")[0]
                   and all(label in line for label in wanted))
