"""A browser's half of Web Push, and a push service on loopback: what the standards say, read from the other side."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from atlas.push.encryption import point_of, read_point, read_unpadded, unpadded


def unseal(body: bytes, own: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """Return the text of a push message, as the browser that holds `own` reads it. Raises ValueError."""
    salt, length, rest = body[:16], body[20], body[21:]
    sender, sealed = rest[:length], rest[length:]
    info = b"WebPush: info\0" + point_of(own.public_key()) + sender
    ikm = HKDF(SHA256(), 32, auth, info).derive(own.exchange(ec.ECDH(), read_point(sender)))
    key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(ikm)
    nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(ikm)
    try:
        padded = AESGCM(key).decrypt(nonce, sealed, None)
    except InvalidTag:
        raise ValueError("the message was sealed for another browser, or changed") from None
    text, last, _ = padded.rstrip(b"\0").rpartition(b"\2")
    assert last, "the record has no end"
    return text


@dataclass
class Browser:
    """A browser that has subscribed: the keys that it gives to the house, and those that it keeps."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = field(default_factory=lambda: os.urandom(16))

    def subscription(self, endpoint: str, language: str = "en") -> dict[str, str]:
        public = unpadded(point_of(self.key.public_key()))
        return {"endpoint": endpoint, "p256dh": public, "auth": unpadded(self.auth), "language": language}

    def read(self, body: bytes) -> dict[str, str]:
        return dict(json.loads(unseal(body, self.key, self.auth)))


@dataclass
class Delivery:
    """One message as it came to a push service."""

    path: str
    headers: dict[str, str]
    body: bytes

    def signer(self, public: str) -> dict[str, object]:
        """Return what the sender signed, if it is who it says, by RFC 8292."""
        scheme, _, rest = self.headers["authorization"].partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        assert (scheme, parts["k"]) == ("vapid", public)
        key = read_point(read_unpadded(parts["k"]))
        return dict(jwt.decode(parts["t"], key, ["ES256"], audience=f"http://{self.headers['host']}"))


class PushService:
    """What came, and what it answers by path: 201 and at once, but for what a test says."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.answers: dict[str, int] = {}
        self.held: dict[str, threading.Event] = {}  # paths whose answers wait
        self.dripping: set[str] = set()  # paths whose answers come letter by letter and never end
        self.given_up = threading.Event()  # by whom such an answer was for
        self.over = threading.Event()
        self.busy = self.busiest = 0  # how many are answered at once
        self.port = 0
        self.news = threading.Condition()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait(self, count: int, seconds: float = 30.0) -> list[Delivery]:
        """Wait until as many have come; return all."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.deliveries) >= count, seconds), f"{len(self.deliveries)} came"
        return self.deliveries

    def hold(self, *names: str) -> None:
        """Answer nothing there until they are let go."""
        self.held |= {f"/push/{name}": threading.Event() for name in names}

    def let_go(self, *names: str) -> None:
        """Answer what waits there, or anywhere."""
        for path in [f"/push/{name}" for name in names] or self.held:
            self.held[path].set()

    def endpoint(self, name: str) -> str:
        return f"http://{self.place}/push/{name}"


@contextmanager
def push_service() -> Iterator[PushService]:
    """Run a push service on loopback inside the block."""
    service = PushService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with service.news:
                service.deliveries.append(Delivery(self.path, headers, body))
                service.busy += 1
                service.busiest = max(service.busiest, service.busy)
                service.news.notify_all()
            if self.path in service.dripping:
                self.drip()
            if self.path in service.held:
                service.held[self.path].wait(30)
            with service.news:
                service.busy -= 1
            self.send_response(service.answers.get(self.path, 201))
            self.send_header("content-length", "0")
            self.end_headers()

        def drip(self) -> None:
            self.wfile.write(b"HTTP/1.1 201 Created\r\nX-Slow: ")
            with suppress(OSError):
                while not service.over.wait(0.02):
                    self.wfile.write(b"a")
            service.given_up.set()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield service
        finally:
            service.over.set()
            service.let_go()
            server.shutdown()
            thread.join()
