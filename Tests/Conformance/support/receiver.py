"""A server that receives events and verifies each signature by hand; its answers are those that the test sets."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import secrets
import threading
import time


class Secret:
    """A secret in the format of Standard Webhooks, in a file of its own."""

    def __init__(self, directory, mode=0o600, texts=None):
        self.key = secrets.token_bytes(32)
        self.text = "whsec_" + base64.b64encode(self.key).decode()
        self.file = os.path.join(directory, "secret-" + secrets.token_hex(4))
        with open(self.file, "w") as file:
            file.write("\n".join(texts or [self.text]))
        os.chmod(self.file, mode)

    def signs(self, headers, body):
        """Whether one of the signatures is ours, by the standard's definition."""
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.new(self.key, signed, hashlib.sha256).digest()).decode()
        return wanted in headers["webhook-signature"].split(" ")


class Call:
    def __init__(self, path, headers, body, at):
        self.path, self.headers, self.body, self.at = path, headers, body, at
        self.id, self.json = headers["webhook-id"], json.loads(body)
        self.type, self.data = self.json["type"], self.json["data"]


def complete(answer):
    """An answer with its headers and body."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    return (*parts, *({}, b"")[len(parts) - 1:])


class Receiver:
    """`answer` is called with each call and returns a status, or a status and headers, or these and a body; it may block."""

    def __init__(self, directory, answer=lambda call: 204, port=0):
        self.secret, self.calls, self.answer = Secret(directory), [], answer
        self.wrong = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(self.path, self.headers, body)
                status, headers, content = complete(status)
                if status is None:
                    # Cut off without an answer.
                    self.close_connection = True
                    return self.connection.close()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, request, address):
                pass

        self.server = Quiet(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, path, headers, body):
        call = Call(path, headers, body, time.time())
        if not self.secret.signs(headers, body):
            self.wrong.append(f"{call.id}: not signed with the secret")
        if abs(call.at - int(headers["webhook-timestamp"])) > 60:
            self.wrong.append(f"{call.id}: the timestamp is not that of the try")
        if headers["Content-Type"] != "application/json" or set(call.json) != {"type", "timestamp", "data"}:
            self.wrong.append(f"{call.id}: {body!r}")
        self.calls.append(call)
        return self.answer(call)

    def of(self, *types):
        """The calls of some types so far, in the order of arrival."""
        return [call for call in self.calls if call.type in types]

    def endpoint(self, *events):
        """Its entry in the configuration."""
        entry = {"url": self.url, "secretFile": self.secret.file}
        return entry | ({"events": list(events)} if events else {})

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        assert not self.wrong, self.wrong[:5]
