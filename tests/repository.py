"""The files of the repository, and the code in them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

SKIPPED = {".git", ".venv", "build", "instance", "node_modules", "__pycache__"}
CACHES = ("*_cache", ".hypothesis", ".tmp", "*.egg-info")


def build(root: Path, tree: dict[str, str]) -> None:
    """Write the files."""
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def files(root: Path) -> list[Path]:
    """What belongs to the repository, without what is made from it."""
    found: list[Path] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if belongs(name)]
        found += [Path(folder, name) for name in names if belongs(name)]
    return sorted(found)


def belongs(name: str) -> bool:
    """Whether a file or folder of this name is part of the repository."""
    return name not in SKIPPED and not any(fnmatch(name, cache) for cache in CACHES)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, without the expressions that they are made of."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)
