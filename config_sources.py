"""Where settings come from beside plain variables: files that hold secrets, and the URLs of nodes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from config_addresses import is_http_url

FROM_FILES = (
    "database_url",
    "database_replica_url",
    "secret_key",
    "secret_keys_old",
    "audit_keys_old",
    "ingest_tokens",
    "rate_limit_storage_url",
)
"""Settings that are or hold a secret: ``NAME_FILE`` names a file that holds the value. ``AUDIT_KEY_FILE`` is
one of its own, which is made where it is missing."""

_RPC_NAME = re.compile(r"RPC_URL_[A-Z0-9_]+")
"""Names of the variables that may hold the URL of a node (docs/network.md#chains)."""


class ConfigError(SystemExit):
    """A setting cannot be used. Ends the start with one line on stderr and exit code 1."""


class SecretFiles(PydanticBaseSettingsSource):
    """Values from the files that ``NAME_FILE`` names, as orchestrators mount secrets."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The text of the file without its last line end; nothing where no file is named."""
        return _from_file(field_name.upper()), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(FieldInfo(), name)[0] for name in FROM_FILES}
        return {name: value for name, value in found.items() if value is not None}


def _from_file(name: str) -> str | None:
    """What the file holds that ``NAME_FILE`` names; None where none is named.

    :raises ConfigError: it holds no value, or the value is given twice.
    """
    file = os.environ.get(f"{name}_FILE")
    if not file:
        return None
    if os.environ.get(name):
        raise ConfigError(f"{name}: {name}_FILE is set, too; set only one of them")
    try:
        value = Path(file).read_text(encoding="utf-8").strip("\r\n\ufeff")
    except OSError as error:
        raise ConfigError(f"{name}_FILE: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name}_FILE: {file} is not a text file") from None
    if not value.strip():
        # Not the default: a secret that failed to be mounted would go unnoticed.
        raise ConfigError(f"{name}_FILE: {file} is empty: write the value into it, or unset the variable")
    return value


class RpcUrls(PydanticBaseSettingsSource):
    """The URLs of nodes: every variable of such a name, or the file that ``NAME_FILE`` names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The URLs by the names of their variables. A variable that is set to nothing is not set."""
        urls: dict[str, str] = {}
        for variable in sorted(filter(_RPC_NAME.fullmatch, os.environ)):
            name = variable.removesuffix("_FILE")
            if not os.environ[variable]:
                continue
            if not _RPC_NAME.fullmatch(name):
                raise ConfigError(f"{variable}: must name the chain, such as RPC_URL_ETHEREUM_FILE")
            url = _from_file(name) or os.environ[name]
            if not is_http_url(url):
                raise ConfigError(f"{name}: must be an http or https URL of a node")
            urls[name] = url
        return urls, field_name, False

    def __call__(self) -> dict[str, Any]:
        return {"rpc_urls": self.get_field_value(FieldInfo(), "rpc_urls")[0]}


def named_log_format() -> Literal["console", "json"]:
    """``LOG_FORMAT``, for what is logged before it is known whether all settings are good."""
    return "json" if os.environ.get("LOG_FORMAT") == "json" else "console"


class Urls(dict[str, str]):
    """URLs by name that nobody changes: settings can be keys."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))
