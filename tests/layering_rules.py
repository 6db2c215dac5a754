"""The rules of the house as a program: who may know whom, and habits that a reader would trip over.

``violations(root)`` reads the sources (it never imports them) and tells what breaks a rule.
docs/layout.md says why the rules are as they are.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Room:
    """What the modules of one room may import beside themselves and the standard library.

    ``libraries`` are dotted prefixes: ``flask`` allows all of it, ``flask.current_app`` only that.
    """

    rooms: frozenset[str]
    libraries: frozenset[str] = frozenset()


def room(rooms: str = "", libraries: str = "") -> Room:
    """A room from two lists in words."""
    return Room(frozenset(rooms.split()), frozenset(libraries.split()))


WEB = "flask werkzeug orjson"
DOOR = "services domain extensions"
HTTP_DOOR = f"{DOOR} http"
ROOMS = {
    "domain": room(),
    "extensions": room(
        "", "sqlalchemy flask_sqlalchemy flask_migrate flask_limiter flask_cors flask_security"
    ),
    "models": room("domain extensions", "sqlalchemy psycopg"),
    "queries": room("models domain extensions", "sqlalchemy"),
    "services": room(
        "queries models domain extensions", "sqlalchemy marshmallow orjson flask.current_app alembic argon2"
    ),
    "http": room("domain", WEB),
    "api": room(HTTP_DOOR, f"{WEB} marshmallow apispec flask_limiter flask_cors"),
    "grpcweb": room(HTTP_DOOR, f"{WEB} google.protobuf"),
    "ingest": room(HTTP_DOOR, WEB),
    "admin": room(
        f"{HTTP_DOOR} models",
        f"{WEB} flask_admin flask_security flask_login flask_wtf wtforms passlib markupsafe sqlalchemy",
    ),
    "watcher": room("services domain", "eth_abi web3"),
    "cli": room(DOOR, "flask click orjson"),
}
"""Rooms of ``app/``. ``app/__init__.py`` puts them together and may know everything."""

EVIDENCE = ("crypto.py", "refund_request.py", "validators.py", "evidence*.py", "*_pb2.py")
EVIDENCE_LIBRARIES = frozenset({"coincurve", "Crypto", "google.protobuf", "eth_keys", "eth_hash"})
"""Hashing, signatures and protobuf: what a contract checks can only be judged with its own means."""

IMPURE = frozenset(
    {"asyncio", "http", "logging", "os", "pathlib", "random", "secrets", "shutil", "sqlite3", "subprocess"}
    | {"tempfile", "threading", "time", "urllib.request"}
)
"""Standard library that reaches outside: the domain's answers depend on its arguments alone."""

CLOCKS = {
    "app/services/gateway.py": "the one place that asks for the time; everything else is told",
    "app/api/limits.py": "Retry-After counts from the clock of the limiter's library",
}
"""Files that may ask for the time, and why."""

MAX_LINES = 400
LONG_FILES: dict[str, str] = {}
"""Python files over the limit, each with the reason why it is not two files."""

SKIPPED = {".git", ".venv", "instance", "node_modules", "__pycache__"}
CACHES = ("*_cache", ".hypothesis", ".tmp", "*.egg-info")
PRIVATE = re.compile(r"\.\./shared\b|(?<![\w./-])/wor[k](?![\w-])")
"""Places outside the repository, which nobody else has."""


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file, parsed."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str | None:
        """The room of ``app/`` that it stands in; ``None`` outside and for ``app/__init__.py``."""
        parts = self.path.removesuffix(".py").split("/")
        return parts[1] if parts[0] == "app" and parts[1] != "__init__" else None

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and dotted name of everything imported; relative names are resolved."""
        package = self.path.split("/")[:-1]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) + 1 - node.level] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def violations(root: Path) -> list[str]:
    """Every broken rule under the root as ``path:line: what is wrong``; empty when all is well."""
    sources = [parse(root, path) for path in files(root) if path.suffix == ".py"]
    app = [source for source in sources if source.path.startswith("app/")]
    running = [source for source in sources if not source.path.startswith(("tests/", "bench/", "scripts/"))]
    found: list[str] = []
    for source in app:
        found += [*forbidden_imports(source), *hidden_imports(source)]
    for source in running:
        found += [*environment_readers(source), *bad_clocks(source)]
    found += cycles(app)
    for source in sources:
        found += too_long(source)
    for path in files(root):
        found += private_places(root, path)
    return found


def files(root: Path) -> list[Path]:
    """What belongs to the repository, without what is made from it."""

    def kept(path: Path) -> bool:
        parts = path.relative_to(root).parts
        return not any(part in SKIPPED or any(fnmatch(part, cache) for cache in CACHES) for part in parts)

    return sorted(path for path in root.rglob("*") if kept(path) and path.is_file())


def parse(root: Path, path: Path) -> Source:
    """Read one file."""
    text = path.read_text(encoding="utf-8")
    return Source(path.relative_to(root).as_posix(), text, ast.parse(text))


def within(name: str, prefixes: frozenset[str]) -> bool:
    """Whether the dotted name is one of the prefixes or inside one."""
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def forbidden_imports(source: Source) -> Iterator[str]:
    """Imports that the source's room may not have."""
    if source.room is None:
        return
    if source.room not in ROOMS:
        yield f"{source.path}:1: {source.room} is no room; give it a line in tests/layering_rules.py"
        return
    for line, name in source.imports():
        if not may_import(source, name):
            yield f"{source.path}:{line}: {source.room} may not import {name}"


def may_import(source: Source, name: str) -> bool:
    """Whether the source may import the dotted name."""
    rules = ROOMS[source.room or ""]
    head, *rest = name.split(".")
    if head == "config":
        return True  # environment_readers says who may
    if head == "app":
        return bool(rest) and (rest[0] == source.room or rest[0] in rules.rooms)
    if head in sys.stdlib_module_names:
        return source.room != "domain" or not within(name, IMPURE)
    if source.room == "domain":
        special = any(fnmatch(source.path.rsplit("/", 1)[-1], pattern) for pattern in EVIDENCE)
        return special and within(name, EVIDENCE_LIBRARIES)
    return within(name, rules.libraries)


def hidden_imports(source: Source) -> Iterator[str]:
    """Imports inside functions, and by name at run time: both dodge a cycle or hide a dependency."""
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield f"{source.path}:{node.lineno}: import inside the function {function.name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "__import__",
            "importlib.import_module",
            "import_module",
        }:
            yield f"{source.path}:{node.lineno}: import at run time"


def environment_readers(source: Source) -> Iterator[str]:
    """Whoever but config.py reads the environment, or but the roots knows config.py."""
    if source.path == "config.py":
        return
    if source.path not in {"app/__init__.py", "wsgi.py", "gunicorn.conf.py"}:
        for line, name in source.imports():
            if name.split(".")[0] == "config":
                yield f"{source.path}:{line}: settings are handed in, config.py is not imported here"
    for line, name in source.imports():
        if name in {"os.environ", "os.getenv", "os.environb"}:
            yield f"{source.path}:{line}: only config.py reads the environment"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "os.environ",
            "os.getenv",
            "os.environb",
        }:
            yield f"{source.path}:{node.lineno}: only config.py reads the environment"


def bad_clocks(source: Source) -> Iterator[str]:
    """Naive times anywhere, and clocks other than the one that is passed in."""
    for line, name in source.imports():
        if name == "time.time" and source.path not in CLOCKS:
            yield f"{source.path}:{line}: time.time is a clock of its own; the clock is passed in"
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        call = re.sub(r"^datetime\.(?=date)", "", ast.unparse(node.func))
        bare = not (node.args or node.keywords)
        place = f"{source.path}:{node.lineno}"
        if node.func.attr in {"utcnow", "utcfromtimestamp"} or call in {"datetime.today", "date.today"}:
            yield f"{place}: {call} is naive; times are aware UTC"
        elif call == "datetime.now" and bare:
            yield f"{place}: datetime.now() is naive; times are aware UTC"
        elif call == "datetime.fromtimestamp" and len(node.args) + len(node.keywords) < 2:
            yield f"{place}: datetime.fromtimestamp without a zone is naive; times are aware UTC"
        elif call in {"datetime.now", "time.time", "func.now"} and source.path not in CLOCKS:
            yield f"{place}: {call} is a clock of its own; the clock is passed in"


def cycles(app: list[Source]) -> Iterator[str]:
    """Modules that import each other in a circle, each circle once."""
    names = {
        source.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): source for source in app
    }
    graph = {
        name: sorted(
            {found for _, target in source.imports() if (found := module_of(target, names))} - {name}
        )
        for name, source in names.items()
        if name != "app"
    }
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> Iterator[str]:
        if name in trail:
            circle = [*trail[trail.index(name) :], name]
            yield f"{names[name].path}:1: import cycle: {' -> '.join(circle)}"
        elif name not in done:
            for target in graph.get(name, []):
                yield from visit(target, [*trail, name])
            done.add(name)

    for start in sorted(graph):
        yield from visit(start, [])


def module_of(name: str, modules: dict[str, Source]) -> str | None:
    """The module that holds the dotted name, which may be a module itself or something in one."""
    for candidate in (name, name.rpartition(".")[0]):
        if candidate in modules:
            return candidate
    return None


def too_long(source: Source) -> Iterator[str]:
    """Files that have grown more than one job, and exemptions that are no longer needed."""
    if source.path.endswith("_pb2.py"):
        return
    lines = source.text.count("\n")
    if lines > MAX_LINES and source.path not in LONG_FILES:
        yield f"{source.path}:{MAX_LINES}: {lines} lines; split it, or say in LONG_FILES why not"
    elif lines <= MAX_LINES and source.path in LONG_FILES:
        yield f"{source.path}:1: is short enough now; take it out of LONG_FILES"


def private_places(root: Path, path: Path) -> Iterator[str]:
    """Mentions of folders that are not part of the repository."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    name = path.relative_to(root).as_posix()
    for number, line in enumerate(lines, 1):
        if found := PRIVATE.search(line):
            yield f"{name}:{number}: refers to {found[0]}, outside the repository"
