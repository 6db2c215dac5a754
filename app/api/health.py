"""Health checks for load balancers, and which version answers, in every process."""

from __future__ import annotations

from typing import Final

from flask import Response
from marshmallow import fields

from app.db.schema import newest_schema
from app.http.application import current
from app.http.headers import PRIVATE_HEADERS
from app.http.public import body
from app.http.schemas import Answer, Shape, describe
from app.monitoring.readiness import Readiness
from app.release import API_VERSIONS, Release
from app.values.errors import Unavailable


class WatchedChainShape(Shape):
    chain_id = fields.Integer(metadata=describe("The chain.", 1))
    state = fields.String(
        metadata=describe(
            "`reading`; `standing`: its newest block is old; `not_read`: no watcher reads it; `stopped`: an "
            "operator has to resume it.",
            "reading",
        )
    )
    head = fields.Integer(allow_none=True, metadata=describe("Newest block that a node reported.", 21000000))
    head_at = fields.DateTime("iso", allow_none=True, metadata=describe("Time of that block."))
    read_to = fields.Integer(allow_none=True, metadata=describe("Last block read.", 20999999))
    backfill_left = fields.Integer(allow_none=True, metadata=describe("Older blocks still to be read.", 0))
    reread_to = fields.Integer(
        allow_none=True,
        metadata=describe("Last block up to which every final block was read a second time.", 20999900),
    )
    reread_at = fields.DateTime("iso", allow_none=True, metadata=describe("When that block was reached."))
    proven_to = fields.Integer(
        allow_none=True,
        metadata=describe(
            "Last block up to which two nodes agreed, or the logs match the blocks' headers.", 20999900
        ),
    )
    proven_at = fields.DateTime("iso", allow_none=True, metadata=describe("When that block was reached."))
    unproven_blocks = fields.Integer(
        attribute="unmatched",
        metadata=describe(
            "Blocks in doubt: nodes of two providers do not agree on them, and their headers do not prove "
            "them. proven_to does not stop at them.",
            0,
        ),
    )


class StaleFeedShape(Shape):
    chain_id = fields.Integer(metadata=describe("The chain.", 1))
    newest_at = fields.DateTime(
        "iso", allow_none=True, metadata=describe("Time of its newest accepted event. null: there is none.")
    )
    max_age_seconds = fields.Integer(metadata=describe("How old that may be.", 600))


class ReadyAnswer(Answer):
    watching = fields.List(
        fields.Nested(WatchedChainShape),
        dump_default=[],
        metadata=describe("Chains configured to be watched. Their state never causes a 503."),
    )
    stale_feeds = fields.List(
        fields.Nested(StaleFeedShape),
        dump_default=[],
        metadata=describe(
            "Chains in service whose newest event is older than FEED_MAX_AGE_SECONDS allows. If "
            "FEED_STALE is fail, one such chain causes a 503."
        ),
    )


class VersionAnswer(Answer):
    version = fields.String(
        dump_default="", metadata=describe("The release, by Semantic Versioning.", "0.1.0")
    )
    commit = fields.String(
        dump_default=None,
        allow_none=True,
        metadata=describe(
            "The commit that it was built from; null where the build did not say.", "3f9c1d2e4b5a"
        ),
    )
    schema = fields.String(
        dump_default="",
        metadata=describe("The revision of the database's schema that this release is made for.", "0031"),
    )
    api_versions = fields.List(
        fields.String(),
        dump_default=[],
        metadata=describe("Versions of the operations that are served here, as in their paths.", ["v2"]),
    )


READY: Final = ReadyAnswer()
VERSION_SHAPE: Final = VersionAnswer()


def version() -> Response:
    """It reads nothing, so it answers while the database is down."""
    running = current(Release)
    shown = {
        "version": running.version,
        "commit": running.commit,
        "schema": newest_schema(),
        "api_versions": list(API_VERSIONS),
    }
    return Response(body(VERSION_SHAPE, shown), headers=PRIVATE_HEADERS)


def up() -> Response:
    return Response(b'{"err":null}', headers=PRIVATE_HEADERS)


def ready() -> Response:
    """The database is reachable and migrated, and the configuration is fresh.

    How far chains are read is shown, but does not affect readiness: other processes would answer the same.
    """
    verdict = current(Readiness).verdict()
    if verdict.complaint:
        raise Unavailable(verdict.complaint)
    return Response(body(READY, verdict.answer), headers=PRIVATE_HEADERS)
