"""What libraries do not promise is used in one file each, and a library that changes it fails a test here.

docs/decisions/0069-private-names.md says what breaks without each.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from flask_admin import BaseView
from flask_admin.model import BaseModelView

import app

ROOT = Path(__file__).parents[1]


class Private(NamedTuple):
    """A name that a library does not promise, and the file of ours that uses it."""

    library: str
    name: str
    file: str
    why: str


TABLE = (
    Private("flask-admin", "_run_view", "app/console/shell/views.py", "its own runs a view twice"),
    Private(
        "flask-admin", "_get_list_filter_args", "app/console/shell/lists.py", "empty fields are no filter"
    ),
    Private("flask-admin", "_get_list_extra_args", "app/console/shell/lists.py", "arguments are bounded"),
)

DOCUMENTED = frozenset({
    "_asdict", "_fields", "_replace", "_make",  # of named tuples
    "_mapping",  # of SQLAlchemy's rows
})  # fmt: skip
"""Names with an underscore that their documentation offers to everybody."""
OF_FIELDS = frozenset({"_deserialize", "_serialize"})
"""What marshmallow's documentation has fields of one's own override; they call ``super()``."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


@cache
def defined_in(tree: ast.AST) -> set[str]:
    """Every private name that the code itself gives to something."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return set(filter(is_private, found))


def used_in(tree: ast.AST, ours: Mapping[str, set[str]]) -> Iterator[str]:
    """The private names of others that a file uses.

    A name is ours where the file itself defines it; on ``self``, ``cls`` and ``super()`` also where a file
    does that it imports from, which may have the base class.

    :param ours: the private names that each module of ours defines.
    """
    here = defined_in(tree)
    imported = (node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    inherited = here.union(*(ours.get(module, set()) for module in imported))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")), attr=name
            ):
                own, names = inherited, [name]
            case ast.Attribute(attr=name):
                own, names = here, [name]
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(str() as name), *_]
            ):
                own, names = here, [name]
            case ast.ImportFrom(module=str() as module, names=aliases) if not module.startswith("app"):
                own, names = set(), [*module.split("."), *(alias.name for alias in aliases)]
            case _:
                continue
        yield from (each for each in names if is_private(each) and each not in own | DOCUMENTED)


def overridden(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """The private names of libraries' classes that classes of ours define anew, each with the file."""
    for module in pkgutil.walk_packages(app.__path__, "app."):
        file = module.name.replace(".", "/") + ("/__init__.py" if module.ispkg else ".py")
        if file not in trees:
            continue
        known = vars(importlib.import_module(module.name))
        for node in trees[file].body:
            kind = known.get(node.name) if isinstance(node, ast.ClassDef) else None
            if not isinstance(kind, type) or issubclass(kind, Enum):
                continue
            names = defined_in(node) & set(vars(kind))
            for base in kind.__mro__:
                if base.__module__.partition(".")[0] not in ("app", "builtins", "typing"):
                    yield from ((name, file) for name in names & set(vars(base)))


def sources() -> dict[str, ast.Module]:
    files = [*(ROOT / "app").rglob("*.py"), ROOT / "config.py"]
    return {
        str(file.relative_to(ROOT)): ast.parse(file.read_text())
        for file in files
        if not file.name.endswith("_pb2.py")  # which protoc writes
    }


def test_nothing_private_is_used_outside_the_table() -> None:
    trees = sources()
    ours = {
        file.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): defined_in(tree)
        for file, tree in trees.items()
    }
    found = {(name, file) for file, tree in trees.items() for name in used_in(tree, ours)}
    found |= {(name, file) for name, file in overridden(trees) if name not in OF_FIELDS}
    assert found - {(entry.name, entry.file) for entry in TABLE} == set()
    assert [entry for entry in TABLE if entry.name not in (ROOT / entry.file).read_text()] == []


@pytest.mark.parametrize(
    ("planted", "is_found"),
    [
        ("from psycopg.errors import _WaitTimeout", True),
        ("def rows(cursor): return cursor._results", True),
        ("def rows(cursor): return getattr(cursor, '_results')", True),
        ("class Own:\n    def __init__(self): self._a = 1\ndef of(own): return own._a", False),
        ("from app.base import Base\nclass Own(Base):\n    def of(self): return self._ours", False),
        ("def of(row): return row._mapping, row.__dict__", False),
    ],
)
def test_scan_finds_what_is_private_elsewhere(planted: str, is_found: bool) -> None:
    assert bool(list(used_in(ast.parse(planted), {"app.base": {"_ours"}}))) is is_found


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_flask_admin_uses_the_hooks() -> None:
    assert parameters(BaseView._run_view) == ["self", "fn", "args", "kwargs"]
    assert parameters(BaseModelView._get_list_filter_args) == ["self"]
    assert parameters(BaseModelView._get_list_extra_args) == ["self"]
    assert "_get_list_extra_args()" in inspect.getsource(BaseModelView.index_view)
    assert "_get_list_filter_args()" in inspect.getsource(BaseModelView._get_list_extra_args)
