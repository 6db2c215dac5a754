"""Licences, known vulnerabilities and the bill of materials of what the gateway depends on."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from app.release import VERSION
from scripts.supply import audit, licences
from scripts.supply.audit import Found, audit_npm, audit_python, report
from scripts.supply.licences import PAGE, Unaccepted, is_accepted, licence_of, page
from scripts.supply.locks import NPM_LOCKS, PYTHON_LOCKS, ROOT, pinned


def everything_is_installed() -> bool:
    try:
        for lock in PYTHON_LOCKS:
            for each in pinned(lock):
                if each.marker is None or each.marker.evaluate():
                    distribution(each.name)
    except PackageNotFoundError:
        return False
    return True


def test_every_lock_file_is_known() -> None:
    ours = {path.name for path in ROOT.glob("requirements*.txt")}
    assert ours == set(PYTHON_LOCKS)
    npm = {
        path.parent.relative_to(ROOT).as_posix()
        for folder in ("bench", "clients", "demo", "tests")
        for path in (ROOT / folder).rglob("package-lock.json")
        if "node_modules" not in path.parts
    }
    assert npm == set(NPM_LOCKS)


@pytest.mark.skipif(not everything_is_installed(), reason="`make lint` installs everything")
def test_licence_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make licences`"


def test_dependencies_have_accepted_licences() -> None:
    for each in pinned("requirements.txt"):
        assert is_accepted(licence_of(each.name)), each.name


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("MIT", True), ("GPL-3.0-only", False), ("AGPL-3.0-or-later", False), ("MIT OR GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False), ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("(MIT OR CC0-1.0)", True), ("SSPL-1.0", False), ("UNKNOWN", False), ("", False),
        ("MIT AND (GPL-2.0-only OR GPL-3.0-only)", False),
    ],
)  # fmt: skip
def test_licence_is_accepted_or_not(expression: str, accepted: bool) -> None:
    assert is_accepted(expression) == accepted


def test_package_that_says_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(licences.LOOKED_UP, "axe-playwright-python")
    with pytest.raises(Unaccepted, match="axe-playwright-python"):
        page()


@pytest.mark.slow
def test_bill_of_materials() -> None:
    from scripts.supply.sbom import bill  # noqa: PLC0415  its library takes seconds to import

    made = bill()
    assert bill() == made
    document = json.loads(made)
    assert document["metadata"]["component"]["version"] == VERSION
    assert "timestamp" not in document["metadata"]
    expected = {(each.name, str(each.specifier).removeprefix("==")) for each in pinned("requirements.txt")}
    assert {(each["name"], each["version"]) for each in document["components"]} == expected
    assert all(each["licenses"][0]["expression"] for each in document["components"])
    assert all(each["externalReferences"][0]["hashes"] for each in document["components"])


HOLE = {"id": "PYSEC-1", "fix_versions": ["2"], "aliases": [], "description": ""}
CLEAN = {"name": "one", "version": "1", "vulns": []}
OPEN = {"name": "two", "version": "1", "vulns": [HOLE]}
NONE = "no known vulnerability"
FOUND = "known vulnerabilities: 1\n  two 1: PYSEC-1, fixed in 2"
SKIPPED = {"name": "three", "skip_reason": "not found"}


def program(folder: Path, prints: object, code: int) -> list[str]:
    """A program that prints this and ends with the code, whatever its arguments."""
    file = folder / "program.py"
    text = prints if isinstance(prints, str) else json.dumps(prints)
    file.write_text(f"import sys\nprint({text!r})\nprint('no network', file=sys.stderr)\nsys.exit({code})\n")
    return [sys.executable, str(file)]


@pytest.mark.parametrize(
    ("prints", "code", "summary", "ends"),
    [
        ({"dependencies": [CLEAN]}, 0, f"x.txt: {NONE}", 0),
        ({"dependencies": [CLEAN, SKIPPED]}, 0, f"x.txt: {NONE} (1 could not be looked up)", 0),
        ({"dependencies": [SKIPPED, SKIPPED]}, 0, "x.txt: skipped: ", 2),
        ({"dependencies": [CLEAN, OPEN]}, 1, f"x.txt: {FOUND}", 1),
        ({"dependencies": [OPEN, SKIPPED]}, 1, f"x.txt: {FOUND} (1", 1),
        ("Traceback", 1, "x.txt: skipped: no network", 2),
        ("", 1, "x.txt: skipped: no network", 2),
    ],
)  # fmt: skip
def test_report_of_pip_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prints: object, code: int, summary: str, ends: int
) -> None:
    assert report([audit_python("x.txt", program(tmp_path, prints, code))]) == ends
    printed = capsys.readouterr().out
    assert printed.startswith(summary)
    assert ("skipped: 1 of 1 lock files" in printed) == ("skipped" in summary)


@pytest.mark.parametrize(
    ("prints", "summary", "ends"),
    [
        ({"vulnerabilities": {}, "metadata": {"dependencies": {"total": 9}}}, NONE, 0),
        (
            {
                "vulnerabilities": {"bad": {"range": "<2", "severity": "high"}},
                "metadata": {"dependencies": {"total": 9}},
            },
            "known vulnerabilities: 1\n  bad <2: high",
            1,
        ),
        ({"message": "request failed", "error": {}}, "skipped: no network", 2),
        ("", "skipped: no network", 2),
    ],
)
def test_report_of_npm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prints: object, summary: str, ends: int
) -> None:
    assert report([audit_npm("demo/node", program(tmp_path, prints, 1))]) == ends
    assert capsys.readouterr().out.startswith(f"demo/node/package-lock.json: {summary}")


def test_others_do_not_hide_vulnerabilities(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([Found("a", (), 0, 0), Found("b", ("c 1: X",), 1, 0), Found("d", (), 1, 0)]) == 1
    assert "c 1: X" in capsys.readouterr().out


def test_nothing_known_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a network, and where one of several databases is away."""
    nothing, good = Found("a", (), 0, 0, "no route to host"), Found("b", (), 3, 0)
    assert report([nothing] * 11) == 2
    assert "skipped: 11 of 11 lock files" in capsys.readouterr().out
    assert report([good, nothing]) == 2
    assert report([good, good]) == 0


def test_audit_is_skipped_without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit_npm("demo/node", [str(ROOT / "no such program")])
    assert not found.holes
    assert not found.looked_up
    assert "No such file" in found.why
    monkeypatch.setattr(audit, "_SECONDS", 0.01)
    assert audit_python("x.txt", ["sleep", "5"]).looked_up == 0
