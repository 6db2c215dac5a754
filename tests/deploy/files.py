"""The files of deploy/."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


_PORTS = iter(Random(os.getpid()).sample(range(10_000, 32_768), 22_768))
"""Below those that the kernel hands out by itself, in another order in each process."""


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on now; each is returned once in a process."""
    for port in _PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def changed(text: str, pattern: str, replacement: str | Callable[[re.Match[str]], str], times: int) -> str:
    """The text with what matches replaced, which must be there so often."""
    whole, number = re.subn(pattern, replacement, text)
    assert number == times, f"{pattern} is there {number} times, not {times}"
    return whole


@cache
def documents(file: Path) -> list[Any]:
    """The documents of a YAML file."""
    documents = yaml.load_all(file.read_text(), yaml.CSafeLoader)
    return [document for document in documents if document is not None]


def yaml_files() -> Iterator[Path]:
    """Every YAML file of deploy/."""
    yield from sorted(path for ending in ("yaml", "yml") for path in DEPLOY.rglob(f"*.{ending}"))


def compose() -> dict[str, Any]:
    """The compose file, its anchors followed."""
    (whole,) = documents(DEPLOY / "compose.yaml")
    assert isinstance(whole, dict)
    return whole


def manifests() -> list[dict[str, Any]]:
    """What the kustomization names, in its order."""
    folder = DEPLOY / "kubernetes"
    (kustomization,) = documents(folder / "kustomization.yaml")
    return [document for name in kustomization["resources"] for document in documents(folder / name)]


def pods() -> dict[str, dict[str, Any]]:
    """The pods that the manifests start, by the name of what starts them."""
    return {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]
        for document in manifests()
        if document["kind"] in ("Deployment", "Job")
    }


def units() -> dict[str, dict[str, list[str]]]:
    """The settings of the sections [Service] of the units: values by name, in their order."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in sorted((DEPLOY / "systemd").glob("*.service")):
        values = found.setdefault(file.name, {})
        section = ""
        for line in file.read_text().splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and line and not line.startswith("#"):
                name, _, value = line.partition("=")
                values.setdefault(name, []).append(value)
    return found


def env_file(file: Path) -> dict[str, str]:
    """The variables of an environment file, with those that are only suggested."""
    lines = [line.removeprefix("#") for line in file.read_text().splitlines() if not line.startswith("# ")]
    return dict(line.split("=", 1) for line in lines if line)
