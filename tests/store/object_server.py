"""An object store on loopback that speaks as much of S3 as Arrow asks for. It keeps objects in memory."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class Objects:
    """What is stored, by bucket/key; parts of uploads that are not done; how many bytes were read."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[bytes, float]] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.bytes_read = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    objects: Objects

    def handle_expect_100(self) -> bool:
        """The client waits for a second if the answer is not sent at once."""
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return unquote(parts.path).strip("/"), query

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return _plain(data) if "aws-chunked" in self.headers.get("Content-Encoding", "") else data

    def _answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.get("size") or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _xml(self, text: str) -> None:
        self._answer(200, f'<?xml version="1.0"?>{text}'.encode(), Content_Type="application/xml")

    def _missing(self) -> None:
        self._answer(404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>")

    def do_HEAD(self) -> None:
        key, _ = self._asked()
        if "/" not in key:
            self._answer(200)
        elif key not in self.objects.stored:
            self._missing()
        else:
            data, when = self.objects.stored[key]
            self._answer(200, size=str(len(data)), ETag=_tag(data), Last_Modified=formatdate(when, usegmt=True))

    def do_GET(self) -> None:
        key, query = self._asked()
        if "list-type" in query:
            self._list(key, query)
            return
        if key not in self.objects.stored:
            self._missing()
            return
        data, when = self.objects.stored[key]
        facts = {"ETag": _tag(data), "Last_Modified": formatdate(when, usegmt=True)}
        wanted = self.headers.get("Range")
        if not wanted:
            self.objects.bytes_read += len(data)
            self._answer(200, data, **facts)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        begin, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
        self.objects.bytes_read += end + 1 - begin
        self._answer(206, data[begin : end + 1], Content_Range=f"bytes {begin}-{end}/{len(data)}", **facts)

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries, folders = [], set()
        for key, (data, when) in sorted(self.objects.stored.items()):
            own, _, name = key.partition("/")
            if own != bucket or not name.startswith(prefix):
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(when))
            entries.append(f"<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size>"
                           f"<LastModified>{stamp}</LastModified></Contents>")  # fmt: skip
        found = "".join(entries)
        found += "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders))
        self._xml(f"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{len(entries)}</KeyCount>{found}"
                  "</ListBucketResult>")  # fmt: skip

    def do_PUT(self) -> None:
        key, query = self._asked()
        body = self._body()
        if "uploadId" in query:
            self.objects.parts[query["uploadId"]][int(query["partNumber"])] = body
            self._answer(200, ETag=_tag(body))
            return
        source = self.headers.get("x-amz-copy-source")
        if source:
            body = self.objects.stored[unquote(source).strip("/")][0]
        if "/" in key:
            self.objects.stored[key] = (body, time.time())
        if source:
            self._xml(f"<CopyObjectResult><ETag>{_tag(body)}</ETag></CopyObjectResult>")
        else:
            self._answer(200, ETag=_tag(body))

    def do_POST(self) -> None:
        key, query = self._asked()
        body = self._body()
        if "uploads" in query:
            number = str(len(self.objects.parts))
            self.objects.parts[number] = {}
            self._xml(f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>")
        elif "uploadId" in query:
            parts = self.objects.parts.pop(query["uploadId"])
            data = b"".join(parts[number] for number in sorted(parts))
            self.objects.stored[key] = (data, time.time())
            self._xml(f"<CompleteMultipartUploadResult><ETag>{_tag(data)}</ETag></CompleteMultipartUploadResult>")
        elif "delete" in query:
            for part in body.decode().split("<Key>")[1:]:
                self.objects.stored.pop(f"{key}/{part.split('</Key>')[0]}", None)
            self._xml("<DeleteResult/>")
        else:
            self._answer(400)

    def do_DELETE(self) -> None:
        key, _ = self._asked()
        self.objects.stored.pop(key, None)
        self._answer(204)


def _plain(data: bytes) -> bytes:
    """A body that the client has cut into signed pieces."""
    found, place = b"", 0
    while True:
        end = data.index(b"\r\n", place)
        size = int(data[place:end].split(b";")[0], 16)
        if not size:
            return found
        found += data[end + 2 : end + 2 + size]
        place = end + 2 + size + 2


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


@contextmanager
def serve() -> Iterator[tuple[str, Objects]]:
    """The address of a server on loopback, and what it stores."""
    objects = Objects()
    handler = type("Handler", (_Handler,), {"objects": objects})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}", objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
