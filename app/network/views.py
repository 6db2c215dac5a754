"""The transfer configs: the body is made when the network changes, not at each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Response, request

from app.http.application import current
from app.http.headers import AS_IT_IS, JSON
from app.http.public import ANY_ORIGIN, EXPOSED
from app.network.services import token_info, transfer_configs
from app.network.snapshot import SnapshotSource, TransferConfigs

_REVALIDATED: Final = ("Cache-Control", "no-cache")
"""Caches must check each time whether their copy is current: a disabled token must show at once."""


def get_transfer_configs(_requested: dict[str, Any]) -> TransferConfigs:
    return transfer_configs(current(SnapshotSource))


def get_token_info(requested: dict[str, Any]) -> Mapping[str, Any]:
    return token_info(current(SnapshotSource), requested["chain_id"], requested["token_symbol"])


def serve_transfer_configs() -> Response:
    configured = get_transfer_configs({})
    headers = (_REVALIDATED, *AS_IT_IS, ANY_ORIGIN, EXPOSED, ("ETag", f'"{configured.etag}"'))
    if request.if_none_match.contains_weak(configured.etag):
        unchanged = Response(status=304, headers=headers)
        del unchanged.headers["Content-Type"]
        return unchanged
    return Response(configured.body, headers=(JSON, *headers))
