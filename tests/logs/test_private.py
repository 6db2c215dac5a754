"""No text of the log has a secret, or an address next to an account."""

from __future__ import annotations

import time

import pytest

from app.observability.private import HIDDEN, Private
from config import Settings

ADDRESS = "203.0.113.7"
WALLET = "0x" + "5A" * 20
ADDRESSES = [ADDRESS, "2001:db8::7", "2001:DB8:0:1:2:3:4:5", "::ffff:cb00:7107"]
ACCOUNTS = [WALLET, WALLET.lower(), "ops@example.org", "first.last+x@mail.example.org"]
SECRETS = [
    "gwk_0123456789abcdef" + "Z" * 43,
    "gwi_0123456789abcdef_" + "Z" * 43,
    "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_logs_hide_secret_by_form(secret: str) -> None:
    assert Private().without([f"POST /x?k={secret} failed"]) == [f"POST /x?k={HIDDEN} failed"]
    assert not Private().is_free(secret)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abc.def-ghi", f"Authorization: Bearer {HIDDEN}"),
        ("postgresql://gw:p%40ss!w0rd@db/name", f"postgresql://gw:{HIDDEN}@db/name"),
        ("redis://:hunter2@cache:6379", f"redis://:{HIDDEN}@cache:6379"),
        ("Cookie: console=eyJ1.x; other=1", f"Cookie: console={HIDDEN}; other=1"),
        ("?password=x&api_key=y", f"?password={HIDDEN}&api_key={HIDDEN}"),
    ],
)
def test_logs_hide_secret_by_field_name(text: str, hidden: str) -> None:
    assert Private().without([text]) == [hidden]


def test_secrets_of_settings_are_hidden() -> None:
    settings = Settings(
        database_url="postgresql://gateway:correct%20horse@db/gateway",
        database_replica_url="postgresql:///gateway?host=db2.example:5432&password=battery-staple",
        rate_limit_storage_url="redis://:cache-password@cache",
        secret_key="s" * 40,
        audit_key="a" * 40,
        audit_keys_old=("o" * 40,),
        ingest_tokens=("token-of-a-reporter",),
        rpc_urls={"RPC_URL_A": "https://u5er-name:pass-word@node.example/v3/k3y-of-node?auth=query-key"},
    )
    private = Private(settings.secrets)
    secrets = (
        "correct horse", "correct%20horse", "battery-staple", "cache-password", "s" * 40, "a" * 40, "o" * 40,
        "token-of-a-reporter", "u5er-name", "pass-word", "v3/k3y-of-node", "k3y-of-node", "query-key",
    )  # fmt: skip
    for secret in secrets:
        assert private.without([f"x {secret} y"]) == [f"x {HIDDEN} y"], secret
        assert not private.is_free(secret)
    for text in ("connection to node.example failed", "connection to db2.example:5432 failed"):
        assert private.without([text]) == [text]


def test_parts_of_words_are_not_hidden() -> None:
    private = Private(["gateway", ""])
    assert private.without(["the gateway starts"]) == ["the gateway starts"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("account", ACCOUNTS)
def test_address_is_hidden_next_to_account(address: str, account: str) -> None:
    private = Private()
    for parts in ([f"{account} from {address}"], [f"failed for {account}", f"ip={address}:4711 at 12:00:00"]):
        hidden = "\n".join(private.without(parts))
        assert address not in hidden
        assert account in hidden
        assert "12:00:00" in hidden or len(parts) == 1


@pytest.mark.parametrize("address", ADDRESSES)
def test_address_without_account_stays(address: str) -> None:
    text = f"Invalid request from ip={address} for 0x{'5a' * 32}"
    assert Private().without([text]) == [text]


def test_account_without_address_stays() -> None:
    text = "audit head 5:ab sign_in by ops@example.org, version 1.2.3"
    assert Private().without([text]) == [text]


def test_no_text_takes_long() -> None:
    private = Private(["x" * 40])
    for piece in ("a", "a.", "a@", "1.", ":", "0x", "f:", "://", "://a:", "bearer ", "password=", "gwk_"):
        text = piece * (100_000 // len(piece))
        began = time.process_time()
        private.without([text, f"{WALLET} {ADDRESS}"])
        assert time.process_time() - began < 1, piece
