"""A passkey in software, which answers as a browser would (WebAuthn level 2, ES256, no attestation)."""

from __future__ import annotations

import hashlib
import json
import secrets
from html import unescape
from re import search
from typing import Any

from Crypto.Hash import SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS
from webauthn.helpers import bytes_to_base64url, encode_cbor
from werkzeug.test import TestResponse

from tests.console.visitor import Visitor

PRESENT, VERIFIED, HAS_KEY = 0x01, 0x04, 0x40
ORIGIN = "http://localhost"


class Authenticator:
    """A device with one passkey.

    :param asks_owner: whether it requires a PIN or a finger.
    """

    def __init__(self, *, asks_owner: bool = True, origin: str = ORIGIN, site: str = "localhost") -> None:
        self.asks_owner, self.origin, self.site = asks_owner, origin, site
        self.key = ECC.generate(curve="P-256")
        self.credential_id = secrets.token_bytes(32)
        self.handle = b""

    def _client_data(self, kind: str, challenge: str) -> bytes:
        shown_text = {"type": f"webauthn.{kind}", "challenge": challenge, "origin": self.origin}
        return json.dumps(shown_text | {"crossOrigin": False}).encode()

    def _about(self, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.asks_owner else 0)
        return hashlib.sha256(self.site.encode()).digest() + bytes([flags]) + bytes(4)  # it does not count

    def _sent(self, response: dict[str, bytes], **more: Any) -> str:
        raw = bytes_to_base64url(self.credential_id)
        encoded = {name: bytes_to_base64url(value) for name, value in response.items()}
        return json.dumps({"id": raw, "rawId": raw, "type": "public-key", "response": encoded | more})

    def register(self, options: dict[str, Any]) -> str:
        """What a browser sends after it made the passkey."""
        self.handle = options["user"]["id"].encode()
        point = self.key.pointQ
        x, y = (int(part).to_bytes(32, "big") for part in (point.x, point.y))
        cose = encode_cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        about = self._about(HAS_KEY) + bytes(16) + len(self.credential_id).to_bytes(2, "big")
        attested = {"fmt": "none", "attStmt": {}, "authData": about + self.credential_id + cose}
        return self._sent(
            {
                "clientDataJSON": self._client_data("create", options["challenge"]),
                "attestationObject": encode_cbor(attested),
            },
            transports=["internal"],
        )

    def answer(self, options: dict[str, Any], *, challenge: str | None = None) -> str:
        """What a browser sends when a page requests the passkey."""
        client = self._client_data("get", challenge or options["challenge"])
        about = self._about()
        signed = SHA256.new(about + hashlib.sha256(client).digest())
        signature = DSS.new(self.key, "fips-186-3", encoding="der").sign(signed)
        response = {"clientDataJSON": client, "authenticatorData": about, "signature": signature}
        return self._sent(response, userHandle=self.handle.decode())


class PasskeyRequest:
    """What a page requests of the browser: the options, and where the answer goes."""

    def __init__(self, page: TestResponse) -> None:
        options = search(r'data-options="([^"]+)"', page.text)
        action = search(r'action="([^"]+)"[^>]*data-passkey', page.text)
        assert options, page.text
        assert action, page.text
        self.options: dict[str, Any] = json.loads(unescape(options[1]))
        self.action = unescape(action[1])
        self.page = page


def add_passkey(visitor: Visitor, device: Authenticator, name: str = "my phone") -> TestResponse:
    """Register the device's passkey at the visitor's account."""
    requested = PasskeyRequest(visitor.post("/admin/account/passkey", {"name": name}))
    return visitor.post(requested.action, {"credential": device.register(requested.options)})


def request_passkey(visitor: Visitor, **fields: str) -> PasskeyRequest:
    """The question of the sign-in page's button."""
    return PasskeyRequest(visitor.post("/admin/sign-in/passkey", fields))


def sign_in_by_passkey(visitor: Visitor, device: Authenticator) -> TestResponse:
    """Use the passkey as the sign-in page does, without a password or after it."""
    requested = request_passkey(visitor)
    return visitor.post(requested.action, {"credential": device.answer(requested.options)})
