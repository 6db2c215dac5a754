"""The environment is renewed when, and only when, what it should hold has changed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import venv

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "file://{folder}/none_such-1-py3-none-any.whl"


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dev file that contains a run file, and an environment that holds nothing yet."""
    environment = tmp_path / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setattr(venv, "ROOT", tmp_path)
    monkeypatch.setattr(venv, "VENV", environment)
    monkeypatch.setattr(venv, "PYTHON", environment / "bin" / "python")
    (tmp_path / "run.in").write_text("one==1\n")
    (tmp_path / "run.txt").write_text("one==1\n")
    (tmp_path / "dev.in").write_text("-r run.in\n-c run.txt\ntwo==2\n")
    (tmp_path / "dev.txt").write_text("one==1\ntwo==2\n")
    return tmp_path / "dev.txt"


def remember(*files: Path) -> None:
    """Write the stamps that an installation of the files leaves."""
    for file in files:
        venv.stamp_of(file).write_text(venv.fingerprint(file))


def test_contained_files_are_found(requirements: Path) -> None:
    assert [file.name for file in venv.contained_in(requirements)] == ["run.txt", "dev.txt"]


def test_a_change_counts(requirements: Path) -> None:
    assert not venv.is_current(requirements)
    remember(requirements)
    assert venv.is_current(requirements)
    requirements.write_text("one==1.1\ntwo==2\n")
    assert not venv.is_current(requirements)


def test_an_environment_whose_python_is_gone_does_not_count(requirements: Path) -> None:
    remember(requirements)
    venv.PYTHON.unlink()
    venv.PYTHON.symlink_to("/nonexistent/python")
    assert not venv.is_current(requirements)


def test_a_failed_installation_is_not_remembered(
    requirements: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    requirements.write_text("this is no requirement\n")
    with pytest.raises(SystemExit, match=r"dev.txt could not be installed"):
        venv.install(requirements)
    assert not venv.stamp_of(requirements).exists()
    assert "this is no requirement" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{WHEEL} --hash=sha256:{'0' * 64}", "DO NOT MATCH THE HASHES"),
        (WHEEL, "hashes are missing|Hashes are required"),
    ],
)
def test_what_the_hashes_do_not_vouch_for_is_not_installed(
    requirements: Path, capfd: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    wheel = requirements.parent / WHEEL.rpartition("/")[2]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "none_such-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: none-such\nVersion: 1\n"
        )
    requirements.write_text(line.format(folder=requirements.parent.as_posix()) + "\n")
    with pytest.raises(SystemExit, match=r"dev.txt could not be installed"):
        venv.install(requirements)
    assert re.search(said, capfd.readouterr().err)


def test_what_is_installed_is_remembered_with_what_it_includes(requirements: Path) -> None:
    for file in venv.contained_in(requirements):
        file.write_text("# nothing\n")
    venv.install(requirements)
    assert venv.is_current(requirements)
    assert venv.is_current(requirements.parent / "run.txt")


def launch(launcher: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script that prints 7 by the launcher, in an environment of these variables alone."""
    return subprocess.run(
        ["/bin/sh", str(launcher), "-c", "print(7)"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """scripts/python in a checkout without .venv."""
    copy = tmp_path / "checkout" / "scripts" / "python"
    copy.parent.mkdir(parents=True)
    copy.write_text((ROOT / "scripts" / "python").read_text())
    return copy


def test_a_named_python_is_used(launcher: Path) -> None:
    assert launch(launcher, PATH=os.defpath, PYTHON=sys.executable).stdout == "7\n"


def test_a_named_python_that_is_none_is_refused(launcher: Path) -> None:
    refused = launch(launcher, PATH=os.defpath, PYTHON="/bin/true")
    assert refused.returncode == 1
    assert refused.stderr == "PYTHON: /bin/true is not a Python 3.11 or newer\n"


def test_a_python_under_another_name_is_found_and_a_missing_one_is_said(
    launcher: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "dirname").symlink_to("/usr/bin/dirname")
    missing = launch(launcher, PATH=str(tools))
    assert missing.returncode == 1
    assert missing.stderr.startswith("Python 3.11 or newer is missing")

    (tools / "python3.12").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tools / "python3.12").chmod(0o755)
    assert launch(launcher, PATH=str(tools)).stdout == "7\n"
