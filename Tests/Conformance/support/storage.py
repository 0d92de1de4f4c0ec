"""S3-compatible storage: it records the requests, recomputes each signature with botocore, and fails as the test
requests.

It keeps the objects itself; with S3_BEHIND=http://HOST:PORT another storage keeps them (Tests/S3/run), to which it
passes verified requests.
"""

import datetime
import hashlib
import http.client
import http.server
import os
import re
import secrets
import threading
import time
from email.utils import formatdate
from urllib.parse import parse_qs, urlencode, urlsplit
from xml.sax.saxutils import escape

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "eu-test-1"
BEHIND = os.environ.get("S3_BEHIND")


def error(status, code):
    return status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        parts = urlsplit(target)
        self.path, self.query = parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.bucket, _, self.key = self.path.removeprefix("/").partition("/")
        self.lists = "list-type" in self.query

    def __repr__(self):
        return f"{self.method} {self.target}"


class Storage:
    """`answer` is called with each request and returns `None`, or a status and a code to answer instead."""

    def __init__(self, directory, port=0):
        self.bucket = "pictures-" + secrets.token_hex(4)
        self.access_key, self.secret_key = "AKIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30)
        self.key_file = os.path.join(directory, "s3-" + secrets.token_hex(4))
        with open(self.key_file, "w") as file:
            file.write(self.secret_key + "\n")
        os.chmod(self.key_file, 0o600)
        self.answer = lambda request: None
        self.requests, self.wrong = [], []
        self.is_public, self.page = False, 1_000
        self.ahead = 0
        """Seconds by which its clock is ahead of the objects' times."""
        self.kept = {}
        self.lock = threading.Lock()
        self.port = port
        self.open()
        self.pass_on("PUT", f"/{self.bucket}")

    # The server

    def open(self):
        storage, self.is_gone = self, False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A body is sent right after its head, and not when the head is acknowledged, 40 ms later.
            disable_nagle_algorithm = True

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if storage.is_gone:
                    self.close_connection = True
                    return self.connection.close()
                request = Request(self.command, self.path, self.headers, body)
                storage.requests.append(request)
                status, headers, body = storage.take(request)
                if status is None:
                    self.close_connection = True
                    return self.connection.close()
                self.send_response_only(status)
                headers = {name: value for name, value in headers.items() if name.lower() not in (
                    "date", "content-length", "connection", "transfer-encoding", "server")}
                headers["Date"] = formatdate(time.time() + storage.ahead, usegmt=True)
                headers["Content-Length"] = str(len(body))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_PUT = do_DELETE = handle_one

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        # Open connections continue without it.
        self.is_gone = True
        self.server.shutdown()
        self.server.server_close()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def settings(self, **more):
        settings = {"endpoint": self.endpoint, "bucket": self.bucket, "region": REGION, "prefix": "presence/photos/",
                    "accessKey": self.access_key, "secretKeyFile": self.key_file}
        return {f"photos.s3.{name}": value for name, value in (settings | more).items()}

    # Answers

    def take(self, request):
        wanted = self.answer(request)
        if wanted:
            return (None, {}, b"") if wanted[0] is None else error(*wanted)
        isOpen = self.is_public and request.method == "GET" and "Authorization" not in request.headers
        if not isOpen:
            fault = self.fault(request)
            if fault:
                self.wrong.append((request, fault))
                return error(403, "SignatureDoesNotMatch")
        if request.bucket != self.bucket:
            return error(404, "NoSuchBucket")
        target = request.target
        if request.lists:
            query = request.query | {"max-keys": str(min(self.page, int(request.query["max-keys"])))}
            target = request.path + "?" + urlencode(query)
        return self.pass_on(request.method, target, request.headers, request.body)

    def fault(self, request):
        """The fault of a signature; `None` if botocore computes the same one for the same request."""
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                             r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", request.headers.get("Authorization", ""))
        if not found:
            return "no signature"
        access_key, day, region, names, signature = found.groups()
        names = names.split(";")
        if (access_key, region) != (self.access_key, REGION):
            return "another key or region"
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names):
            return "too little is signed"
        stamp = request.headers["X-Amz-Date"]
        made = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if not stamp.startswith(day) or abs(made.timestamp() - time.time()) > 900:
            return "another time"
        if request.headers["X-Amz-Content-Sha256"] != hashlib.sha256(request.body).hexdigest():
            return "another body"
        signed = {name: request.headers[name] for name in names if name != "host"}
        again = AWSRequest(
            request.method, f"http://{request.headers['Host']}{request.target}", headers=signed, data=request.body)
        again.context["timestamp"] = stamp
        maker = S3SigV4Auth(Credentials(self.access_key, self.secret_key), "s3", REGION)
        wanted = maker.signature(maker.string_to_sign(again, maker.canonical_request(again)), again)
        return None if wanted == signature else "another signature"

    # Objects

    def pass_on(self, method, target, headers=None, body=b""):
        """The response of the storage behind it, without any signature."""
        request = Request(method, target, headers or {}, body)
        if not BEHIND:
            with self.lock:
                return self.keep(request)
        connection = http.client.HTTPConnection(urlsplit(BEHIND).netloc, timeout=20)
        try:
            # That storage requires no signature for any bucket.
            sent = {name: value for name, value in request.headers.items()
                    if name.lower() in ("content-type", "cache-control", "authorization", "x-amz-date", "range")}
            sent.setdefault("Authorization", "AWS4-HMAC-SHA256 Credential=a/20200101/us-east-1/s3/aws4_request, "
                                             "SignedHeaders=host, Signature=0")
            connection.request(method, target, body=body, headers=sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()
        finally:
            connection.close()

    def keep(self, request):
        if request.lists:
            return self.listing(request.query)
        if not request.key:
            return 200, {}, b""
        if request.method == "PUT":
            headers = {name: request.headers[name] for name in ("Content-Type", "Cache-Control") if name in request.headers}
            self.kept[request.key] = (headers, request.body, time.time())
            return 200, {}, b""
        if request.method == "DELETE":
            self.kept.pop(request.key, None)
            return 204, {}, b""
        if request.key not in self.kept:
            return error(404, "NoSuchKey")
        headers, body, _ = self.kept[request.key]
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", "") if request.method == "GET" else "")
        if not part:
            return 200, headers, body
        first, last = int(part.group(1)), min(int(part.group(2)), len(body) - 1)
        return 206, headers | {"Content-Range": f"bytes {first}-{last}/{len(body)}"}, body[first:last + 1]

    def listing(self, query):
        keys = sorted(key for key in self.kept if key.startswith(query.get("prefix", "")) and key > query.get("start-after", ""))
        page = keys[:int(query.get("max-keys", 1_000))]
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>"
            f"{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(self.kept[key][2]))}</LastModified></Contents>" for key in page)
        return 200, {"Content-Type": "application/xml"}, (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{str(len(keys) > len(page)).lower()}</IsTruncated>{contents}</ListBucketResult>").encode()

    # For tests

    def put(self, key, body=b"x"):
        assert self.pass_on("PUT", f"/{self.bucket}/{key}", {"Content-Type": "image/jpeg"}, body)[0] == 200

    def get(self, key):
        return self.pass_on("GET", f"/{self.bucket}/{key}")

    def keys(self):
        """The picture objects, without the mark of their owner."""
        _, _, body = self.pass_on("GET", f"/{self.bucket}?list-type=2")
        return sorted(key for key in re.findall(r"<Key>([^<]*)</Key>", body.decode()) if not key.endswith("installation"))
