"""The environment is renewed when, and only when, what it should hold has changed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from scripts import venv

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "file://{folder}/none_such-1-py3-none-any.whl"


PINNED_UV = re.compile(r"^uv==.*\\\n(?: +--hash=.*\n)+", re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of which both files pin nothing but uv, and an environment that holds nothing yet."""
    environment = tmp_path / ".venv"
    monkeypatch.setattr(venv, "ROOT", tmp_path)
    monkeypatch.setattr(venv, "VENV", environment)
    monkeypatch.setattr(venv, "PYTHON", environment / "bin" / "python")
    venv.runs(sys.executable, "-m", "venv", "--without-pip", str(environment))
    pinned = PINNED_UV.search((ROOT / venv.LOCK).read_text())
    assert pinned
    (tmp_path / venv.LOCK).write_text(pinned[0])
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    return tmp_path


@pytest.fixture(params=["uv", "pip"])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What installs: the uv of this environment, or pip where no uv can be had."""
    uv = str(Path(sys.executable).with_name("uv")) if request.param == "uv" else None
    monkeypatch.setattr(venv, "find_uv", lambda _progress: uv)
    return str(request.param)


def remember(name: str) -> None:
    """Write the stamp that an installation leaves."""
    venv.stamp_of(name).write_text(venv.fingerprint(name))


@pytest.mark.parametrize("name", ["requirements.txt", "docs", venv.LOCK])
def test_change_counts(checkout: Path, name: str) -> None:
    assert not venv.is_current(name)
    remember(name)
    assert venv.is_current(name)
    file = checkout / (name if name.endswith(".txt") else venv.LOCK)
    file.write_text(file.read_text() + "one==1.1\n")
    assert not venv.is_current(name)


def test_installed_lock_has_each_file_and_group(checkout: Path) -> None:
    remember(venv.LOCK)  # as after an installation of the lock, which pins everything
    assert venv.is_current("requirements.txt")
    assert venv.is_current("docs")


def test_environment_without_python_is_stale(checkout: Path) -> None:
    remember(venv.LOCK)
    venv.PYTHON.unlink()
    venv.PYTHON.symlink_to("/nonexistent/python")
    assert not venv.is_current(venv.LOCK)


def test_only_a_good_installation_is_remembered(
    checkout: Path, tool: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (checkout / "requirements.txt").write_text("this is no requirement\n")
    with pytest.raises(SystemExit, match=r"requirements.txt could not be installed"):
        venv.install("requirements.txt")
    assert not venv.stamp_of("requirements.txt").exists()
    assert "this is no requirement" in capfd.readouterr().err
    (checkout / "requirements.txt").write_text("# nothing\n")
    venv.main(["requirements.txt"])
    assert venv.is_current("requirements.txt")
    assert not venv.is_current(venv.LOCK)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (f"{WHEEL} --hash=sha256:{'0' * 64}", "DO NOT MATCH THE HASHES|Hash mismatch"),
        (WHEEL, "Hashes are required|must have a hash"),
    ],
)
def test_package_without_valid_hash_is_refused(
    checkout: Path, tool: str, capfd: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    wheel = checkout / WHEEL.rpartition("/")[2]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "none_such-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: none-such\nVersion: 1\n"
        )
        archive.writestr("none_such-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("none_such-1.dist-info/RECORD", "")
    (checkout / "requirements.txt").write_text(line.format(folder=checkout.as_posix()) + "\n")
    with pytest.raises(SystemExit, match=r"requirements.txt could not be installed"):
        venv.install("requirements.txt")
    assert re.search(complaint, capfd.readouterr().err)


@pytest.mark.usefixtures("by_uv")
def test_group_is_checked_by_lock_hashes(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """uv reads hashes of constraints: another archive than the lock knows is refused."""
    (checkout / "pyproject.toml").write_text('[dependency-groups]\nsmall = ["zope-event==6.2"]\n')
    (checkout / venv.LOCK).write_text(f"zope-event==6.2 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SystemExit, match="small could not be installed"):
        venv.install("small")
    assert "Hash mismatch" in capfd.readouterr().err


@pytest.mark.system  # pip downloads it
def test_pip_installs_the_pinned_uv(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    uv = venv.find_uv(venv.Progress("Installing"))
    assert uv == str(venv.VENV / "bin" / "uv")
    assert venv.version_of(uv).split()[1] in (checkout / venv.LOCK).read_text()


def test_another_uv_is_not_used(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = checkout / "tools"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\necho uv 0.1.0\n")
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.defpath}")
    monkeypatch.setattr(venv, "find_pip", lambda: ["/bin/false"])
    assert venv.find_uv(venv.Progress("Installing")) is None


@pytest.fixture
def by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """The uv of this environment installs."""
    monkeypatch.setattr(venv, "find_uv", lambda _progress: str(Path(sys.executable).with_name("uv")))


@pytest.mark.usefixtures("by_uv")
@pytest.mark.parametrize("left_by", ["requirements.txt", venv.LOCK, ""])
def test_killed_installation_is_made_again(checkout: Path, left_by: str) -> None:
    """Of what was killed, packages may be there in part."""
    venv.main(["requirements.txt"])
    venv.unfinished().write_text(left_by)
    left = venv.VENV / "left"
    left.touch()
    assert not venv.is_current("requirements.txt")
    venv.main(["requirements.txt"])
    assert venv.is_current("requirements.txt")
    assert not left.exists()


def test_killed_group_leaves_the_rest_current(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the group adds is installed again: the gateway starts at once."""
    monkeypatch.setattr(venv, "find_uv", lambda _progress: "/opt/uv")
    (checkout / "requirements.txt").write_text("one==1\n")
    remember("requirements.txt")
    (checkout / venv.LOCK).write_text("one==1\ntwo==2\nthree[more]==3\n")
    venv.unfinished().write_text("docs")
    assert venv.is_current("requirements.txt")
    assert not venv.is_current("docs")
    tool, what, command = next(venv.installers("docs", venv.Progress("Installing")))
    assert (tool, what) == ("uv", "docs")
    assert [each for each in command if each.startswith("--reinstall")] == [
        "--reinstall-package=three", "--reinstall-package=two",
    ]  # fmt: skip
    _, _, command = next(venv.installers("requirements.txt", venv.Progress("Installing")))
    assert not any(each.startswith("--reinstall") for each in command)


@pytest.mark.usefixtures("by_uv")
def test_other_install_after_killed_group_clears(checkout: Path) -> None:
    """It may need what the group has left in part."""
    venv.unfinished().write_text("docs")
    left = venv.VENV / "left"
    left.touch()
    venv.main(["requirements.txt"])
    assert not left.exists()


def test_pip_installs_where_uv_fails(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = checkout / "uv"
    failing.write_text("#!/bin/sh\necho invalid peer certificate: UnknownIssuer >&2\nexit 2\n")
    failing.chmod(0o755)
    monkeypatch.setattr(venv, "find_uv", lambda _progress: str(failing))
    venv.main(["requirements.txt"])
    assert venv.is_current("requirements.txt")
    printed = capfd.readouterr()
    assert printed.err == (
        "uv could not install requirements.txt:\ninvalid peer certificate: UnknownIssuer\n"
    )
    assert re.search(r"^Installed requirements.txt into .venv in \d+ s.$", printed.out, re.MULTILINE)


def test_system_store_is_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unless the person has said otherwise, or it is empty."""
    for name in ("UV_SYSTEM_CERTS", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    store, empty = tmp_path / "store.pem", tmp_path / "empty"
    store.touch()
    empty.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(store))
    assert venv.trusting_the_system() == {"UV_SYSTEM_CERTS": "true", "REQUESTS_CA_BUNDLE": str(store)}
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/theirs.pem")
    monkeypatch.setenv("UV_SYSTEM_CERTS", "false")
    assert venv.trusting_the_system() == {}
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.delenv("UV_SYSTEM_CERTS")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing"))
    monkeypatch.setenv("SSL_CERT_DIR", str(empty))
    assert venv.trusting_the_system() == {}


@pytest.mark.parametrize(
    ("line", "most", "shown"),
    [
        ("one two", 7, "one two"),
        ("one two three", 11, "one two ..."),
        ("one two three", 10, "one ..."),
        ("onetwothree", 8, "onet ..."),
    ],
)
def test_long_progress_ends_after_a_word(line: str, most: int, shown: str) -> None:
    assert venv.fitted(line, most) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Prepared 2 packages in 1ms", "Prepared 2 packages in 1ms"),
        ("Installed 2 packages in 1ms", "Installed 2 packages in 1ms, compiling them"),
    ],
)
def test_silent_compiling_is_shown(line: str, shown: str) -> None:
    program = f"import time; print({line!r}, flush=True); time.sleep(1)"
    details: list[str] = []

    class Recorded(venv.Progress):
        def show(self, detail: str = "") -> None:
            details.append(detail)

    assert venv.attempt([sys.executable, "-c", program], Recorded("Installing")) is None
    assert details[-1] == shown


@pytest.mark.parametrize(("then", "code"), [((), 128 + signal.SIGTERM), (("then", "-c", "print(7)"), 0)])
def test_ended_installation_leaves_nothing(checkout: Path, then: tuple[str, ...], code: int) -> None:
    """What follows is not begun, and ends as it would."""
    pinned = PINNED_UV.search((ROOT / venv.LOCK).read_text())
    assert pinned
    tools, started = checkout / "tools", checkout / "started"
    tools.mkdir()
    version = pinned[0].split()[0].removeprefix("uv==")
    slow = f'#!/bin/sh\n[ "$1" = --version ] && exec echo uv {version}\necho $$ >{started}\nexec sleep 600\n'
    (tools / "uv").write_text(slow)
    (tools / "uv").chmod(0o755)
    script = copied(checkout)
    command = [sys.executable, str(script), "requirements.txt", *then]
    path = f"{tools}{os.pathsep}{os.defpath}"
    with subprocess.Popen(command, env={"PATH": path}, stdout=subprocess.PIPE, text=True) as process:
        while not (started.exists() and started.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()
        printed, _ = process.communicate()
    assert printed == "Installing requirements.txt into .venv ...\n"
    assert process.returncode == code
    assert ended_soon(int(started.read_text()))
    assert venv.unfinished().exists()


def copied(checkout: Path) -> Path:
    """The script, in the checkout."""
    script = checkout / "scripts" / "venv.py"
    script.parent.mkdir()
    script.write_text((ROOT / "scripts" / "venv.py").read_text())
    return script


def ended_soon(pid: int) -> bool:
    """Whether a process that was killed ends: the system may need a moment for that."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.02)
                continue
        return True
    return False


def test_goes_on_with_what_follows(checkout: Path) -> None:
    remember("requirements.txt")
    script = copied(checkout)
    command = [sys.executable, str(script), "requirements.txt", "then", "-c", "import sys; print(sys.prefix)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{venv.VENV}\n"


def launch(launcher: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script that prints 7 by the launcher, in an environment of only these variables."""
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


def test_named_python_is_used(launcher: Path) -> None:
    assert launch(launcher, PATH=os.defpath, PYTHON=sys.executable).stdout == "7\n"


def test_invalid_named_python_is_refused(launcher: Path) -> None:
    refused = launch(launcher, PATH=os.defpath, PYTHON="/bin/true")
    assert refused.returncode == 1
    assert refused.stderr == "PYTHON: /bin/true is not a Python 3.11 or newer\n"


def test_python_of_other_name_is_found(launcher: Path, tmp_path: Path) -> None:
    """A missing one is reported."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "dirname").symlink_to("/usr/bin/dirname")
    missing = launch(launcher, PATH=str(tools))
    assert missing.returncode == 1
    assert missing.stderr.startswith("Python 3.11 or newer is missing")

    (tools / "python3.12").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tools / "python3.12").chmod(0o755)
    assert launch(launcher, PATH=str(tools)).stdout == "7\n"
