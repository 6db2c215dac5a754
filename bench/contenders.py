"""The contenders, and how each is served: the same processes, threads and connections for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from app.db.database import READ_CONNECTIONS
from tests.load.served import GATEWAY

Kind = Literal["nothing", "key", "status", "estimate", "latency"]
Server = tuple[str, str, str]
"""Server program, application, database."""

GUNICORN, GRANIAN, UVICORN = "gunicorn", "granian", "uvicorn"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
GRANIAN_THREADS: Final = 2
"""It reads and writes sockets outside of the interpreter, so further threads would only wait for each other.
"""

OURS: Final = GATEWAY[-1]
SHIPPED: Final = (GUNICORN, OURS, POSTGRES)


@dataclass(frozen=True, slots=True)
class Contender:
    """A server that answers one kind of request."""

    name: str
    server: Server
    kind: Kind


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all."""

    sqlite_url: str
    postgres_url: str
    processes: int = 2
    threads: int = READ_CONNECTIONS
    """In each process, and as many connections."""


def _ours(kind: Kind, database: str, program: str) -> Contender:
    return Contender(f"{kind}, {database}, {program}", (program, OURS, database), kind)


_FLOOR: Final = "bench.contestants.flask_floor:app"
SMALLEST: Final = Contender(
    "smallest Flask route, gunicorn", (GUNICORN, "bench.contestants.flask_smallest:app", ""), "nothing"
)
FLOOR: Final = Contender("floor: Flask + one Core read, gunicorn", (GUNICORN, _FLOOR, POSTGRES), "key")
FLOOR_GRANIAN: Final = Contender("floor: Flask + one Core read, granian", (GRANIAN, _FLOOR, POSTGRES), "key")
FASTAPI: Final = Contender(
    "status by FastAPI + asyncpg, uvicorn",
    (UVICORN, "bench.contestants.fastapi_status:app", POSTGRES),
    "status",
)
STATUS: Final = _ours("status", POSTGRES, GUNICORN)
STATUS_GRANIAN: Final = _ours("status", POSTGRES, GRANIAN)
ESTIMATE: Final = _ours("estimate", POSTGRES, GUNICORN)
ESTIMATE_SQLITE: Final = _ours("estimate", SQLITE, GUNICORN)
LATENCY: Final = _ours("latency", POSTGRES, GUNICORN)


def command(server: Server, setting: Setting) -> list[str]:
    """Its start command, as arguments of ``python -m``; ``{port}`` is to be filled in."""
    program, application, _ = server
    if program == GUNICORN:
        configuration = "gunicorn.conf.py" if application == OURS else "bench/gunicorn_bare.py"
        return [GUNICORN, "-c", configuration, application]
    address = ["--host", "127.0.0.1", "--port", "{port}", "--workers", str(setting.processes)]
    if program == GRANIAN:
        quiet = ["--no-ws", "--no-access-log", "--log-level", "warning"]
        threads = ["--blocking-threads", str(min(setting.threads, GRANIAN_THREADS))]
        return [GRANIAN, "--interface", "wsgi", *address, *threads, *quiet, application]
    fastest = ["--loop", "uvloop", "--http", "httptools"]
    return [UVICORN, *address, *fastest, "--no-access-log", "--log-level", "warning", application]


def settings_for(server: Server, setting: Setting) -> dict[str, str]:
    _, _, database = server
    return {
        "SECRET_KEY": "bench" * 8,
        "DATABASE_URL": setting.sqlite_url if database == SQLITE else setting.postgres_url,
        "ASYNCPG_URL": setting.postgres_url.replace("postgresql+psycopg", "postgresql"),
        "WEB_CONCURRENCY": str(setting.processes),
        "CONNECTIONS": str(setting.threads),
        "GUNICORN_CMD_ARGS": "--no-control-socket",
        "LOG_LEVEL": "WARNING",
    }
