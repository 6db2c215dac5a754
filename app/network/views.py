"""The transfer configs: the body is made when the network changes, not at each request."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response, request

from app.http.headers import AS_IT_IS, JSON
from app.http.interface import Answers
from app.http.public import ANY_ORIGIN, EXPOSED
from app.http.requests import apply_request_policy
from app.network.schemas.config_answers import ConfigsAnswer
from app.network.services import transfer_configs
from app.network.snapshot import SnapshotSource
from app.parts import current

CONFIGS_PATHS: Final = ("/getTransferConfigs", "/getTransferConfigsForAll")

ANSWERS: Final[Answers] = dict.fromkeys(CONFIGS_PATHS, ConfigsAnswer())

_REVALIDATED: Final = ("Cache-Control", "no-cache")
"""Caches must ask each time whether their copy is current: a disabled token must show at once."""

configs = Blueprint("configs", __name__)
configs.before_request(apply_request_policy)


def get_transfer_configs() -> Response:
    """What can be transferred where?"""
    configured = transfer_configs(current(SnapshotSource))
    headers = (_REVALIDATED, *AS_IT_IS, ANY_ORIGIN, EXPOSED, ("ETag", f'"{configured.etag}"'))
    if request.if_none_match.contains_weak(configured.etag):
        unchanged = Response(status=304, headers=headers)
        del unchanged.headers["Content-Type"]
        return unchanged
    return Response(configured.body, headers=(JSON, *headers))


for path in CONFIGS_PATHS:
    configs.add_url_rule(path, path[1:], get_transfer_configs)
