"""Who takes part, and how each is served: the same processes, threads and connections for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Asks = Literal["nothing", "key", "status", "estimate", "latency"]
Server = tuple[str, str, str]
"""Server program, application, database."""

GUNICORN, GRANIAN, UVICORN = "gunicorn", "granian", "uvicorn"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
GRANIAN_THREADS = 2
"""It reads and writes sockets outside the interpreter, so that further threads only wait for each other."""

OURS = "wsgi:app"


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that answers, and what it is asked."""

    name: str
    server: Server
    asks: Asks


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all."""

    sqlite_url: str
    postgres_url: str
    processes: int
    threads: int


def _ours() -> list[Contender]:
    return [
        Contender(f"{asks}, {database}, {program}", (program, OURS, database), asks)
        for program in (GUNICORN, GRANIAN)
        for database in (POSTGRES, SQLITE)
        for asks in ("status", "estimate", "latency")
    ]


BARE = "bare WSGI, gunicorn"
SMALLEST = "smallest Flask route, gunicorn"
FLOOR = "floor: Flask + one Core read, PostgreSQL, gunicorn"
FLOOR_GRANIAN = "floor: Flask + one Core read, PostgreSQL, granian"
FASTAPI = "status by FastAPI + asyncpg, PostgreSQL, uvicorn"

CONTENDERS = (
    Contender(BARE, (GUNICORN, "bench.contestants.bare:app", ""), "nothing"),
    Contender(SMALLEST, (GUNICORN, "bench.contestants.flask_smallest:app", ""), "nothing"),
    Contender(FLOOR, (GUNICORN, "bench.contestants.flask_floor:app", POSTGRES), "key"),
    Contender(FLOOR_GRANIAN, (GRANIAN, "bench.contestants.flask_floor:app", POSTGRES), "key"),
    Contender(FASTAPI, (UVICORN, "bench.contestants.fastapi_status:app", POSTGRES), "status"),
    *_ours(),
)


def command(server: Server, setting: Setting) -> list[str]:
    """How to start it, as arguments of ``python -m``; ``{port}`` is to be filled in."""
    program, application, _ = server
    if program == GUNICORN:
        configuration = "gunicorn.conf.py" if application == OURS else "bench/gunicorn_bare.py"
        return ["gunicorn", "-c", configuration, application]
    address = ["--host", "127.0.0.1", "--port", "{port}", "--workers", str(setting.processes)]
    if program == GRANIAN:
        quiet = ["--no-ws", "--no-access-log", "--log-level", "warning"]
        threads = ["--blocking-threads", str(min(setting.threads, GRANIAN_THREADS))]
        return ["granian", "--interface", "wsgi", *address, *threads, *quiet, application]
    fastest = ["--loop", "uvloop", "--http", "httptools"]
    return ["uvicorn", *address, *fastest, "--no-access-log", "--log-level", "warning", application]


def settings_for(server: Server, setting: Setting) -> dict[str, str]:
    """The environment of it."""
    _, _, database = server
    url = setting.sqlite_url if database == SQLITE else setting.postgres_url
    return {
        "SECRET_KEY": "bench" * 8,
        "DATABASE_URL": url,
        "ASYNCPG_URL": setting.postgres_url.replace("postgresql+psycopg", "postgresql"),
        "WEB_CONCURRENCY": str(setting.processes),
        "WEB_THREADS": str(setting.threads),
        "GUNICORN_CMD_ARGS": "--no-control-socket",
        "LOG_LEVEL": "WARNING",
    }
