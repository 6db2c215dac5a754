"""docs/tutorial.md: what it says is typed and saved, and what that prints is what the page shows."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from demo.reader import ACCOUNT, KEY
from scripts import clients
from tests.clients import workshop
from tests.clients.demonstrations import SETTINGS, held_port
from tests.curl import BASE
from tests.grpcweb.node import NPM_CI, node, run
from tests.programs import program
from tests.site.snippets import ROOT, Block, blocks_of

PAGE = "docs/tutorial.md"
RUN = blocks_of(PAGE)
START, ACCOUNTS, HTTP = ([block for block in RUN if block.heading.startswith(number)] for number in "123")
PYTHON = [block for block in RUN if block.heading == "Python"]
"""With what the programs of both languages print."""

TYPESCRIPT = [
    block for block in RUN if block.heading == "TypeScript" or (block in PYTHON and block.fence == "text")
]
"""With what they print, which the page shows once, below the heading of Python."""

NAMED = re.compile(r"(?://|#) (tutorial/[\w./]+)\n")
"""The first line of a program: where it is saved."""

PROGRAMS = ("setup", "send", "refund")
TSX, NODE_TYPES = "tsx@4.23.15", "@types/node@20.19.43"
TSC = {
    "compilerOptions": {
        "strict": True, "exactOptionalPropertyTypes": True, "module": "nodenext", "target": "es2022",
        "lib": ["es2023", "dom"], "types": ["node"], "noEmit": True,
    },
    "include": ["*.ts"],
}  # fmt: skip
SECONDS_TO_START, SECONDS_TO_END = 300, 20
MARK = "— the next block —"
STATUS = re.compile(r"status \d+")


@dataclass(frozen=True)
class Reader:
    """A folder that looks like a copy of the repository, where the gateway is, and what the start printed.

    ``by_http`` is what the commands of sections 2 and 3 print. They show balances, so they are typed first.
    """

    folder: Path
    base: str
    started: str
    by_http: list[str] = field(default_factory=list)

    def type(self, blocks: list[Block], place: str = ".") -> list[str]:
        """Type the commands of blocks in one terminal; what each of them printed."""
        typed = [". .tmp/demo/env", f"cd {place}", *(f"echo '{MARK}'\n{block.code}" for block in blocks)]
        script = "\n".join(["set -eu -o pipefail", *typed])
        bash = program("bash")
        return run(bash, "-c", script, cwd=self.folder, env=SETTINGS, timeout=600).split(f"{MARK}\n")[1:]

    def save(self, blocks: list[Block]) -> None:
        """Save the programs of a section where the page says."""
        for name, block in programs_of(blocks).items():
            (self.folder / name).write_text(f"{block.code}\n")

    def check(self, shown: Block, printed: str) -> None:
        assert re.fullmatch(pattern(shown.code.replace(BASE, self.base)), printed), f"{shown.name}\n{printed}"


def programs_of(blocks: list[Block]) -> dict[str, Block]:
    """The programs among blocks by the file that their first line names."""
    programs = [block for block in blocks if block.fence in ("ts", "python")]
    named = [(NAMED.match(block.code), block) for block in programs]
    return {name[1]: block for name, block in named if name}


def pattern(shown: str) -> str:
    """What prints as is shown: ``…`` is any text, and a status that is over quickly may be missed."""
    lines, found = shown.splitlines(), ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line == "…":
            found += r"(?:.*\n)*"
        elif STATUS.fullmatch(line) and STATUS.fullmatch(following):
            found += f"(?:{line}\n)?"
        else:
            found += re.escape(line).replace("…", r"\S*") + "\n"
    return found


def typed_and_shown(blocks: list[Block]) -> tuple[list[Block], dict[int, Block]]:
    """The commands, and what is shown for them, by their place."""
    commands, shown = list[Block](), dict[int, Block]()
    for block in blocks:
        if block.fence == "sh":
            commands.append(block)
        elif block.fence in ("text", "json"):
            shown[len(commands) - 1] = block
    return commands, shown


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    program("jq")
    program("curl")
    folder = tmp_path_factory.mktemp("copy")
    file = tmp_path_factory.mktemp("demo") / "printed"
    with held_port() as port, file.open("w") as printed:
        for path in ROOT.iterdir():  # now .tmp is among them, even in a new copy
            if path.name != "tutorial":
                (folder / path.name).symlink_to(path)
        demo = subprocess.Popen(
            shlex.split(START[0].code), cwd=ROOT, env=SETTINGS | {"PORT": str(port)},
            stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + SECONDS_TO_START
            while "docs/tutorial.md\n" not in file.read_text():
                assert demo.poll() is None and time.monotonic() < end, file.read_text()
                time.sleep(0.2)
            new = Reader(folder, f"http://127.0.0.1:{port}", file.read_text())
            yield replace(new, by_http=new.type(typed_and_shown([*ACCOUNTS, *HTTP])[0]))
        finally:
            kill_and_leave_nothing(demo)


def kill_and_leave_nothing(make: subprocess.Popen[bytes]) -> None:
    """Kill the demonstration alone, by SIGKILL: all that it started ends by itself."""
    started = psutil.Process(make.pid).children(recursive=True)
    started[0].kill()
    make.wait(60)
    _, left = psutil.wait_procs(started, timeout=SECONDS_TO_END)
    for each in left:
        each.kill()
    assert left == []


def test_both_languages_have_every_program_and_no_block_is_left_out() -> None:
    """A block in none of the parts would be tried by no test."""
    names = [[f"tutorial/typescript/{name}.ts" for name in PROGRAMS]]
    names.append([f"tutorial/python/{name}.py" for name in PROGRAMS])
    assert [list(programs_of(blocks)) for blocks in (TYPESCRIPT, PYTHON)] == names
    parts = (START, ACCOUNTS, HTTP, TYPESCRIPT, PYTHON)
    assert all(len(blocks) > 1 for blocks in parts), "each has at least a command and what it prints"
    assert {block.line for blocks in parts for block in blocks} == {block.line for block in RUN}


@pytest.mark.system
def test_start_shows_account(reader: Reader) -> None:
    [command, shown] = START
    assert command.code == "make demo"
    wanted = pattern(shown.code.replace(BASE, reader.base))
    assert re.search(wanted, reader.started), reader.started
    assert KEY in reader.started
    assert f"0x{ACCOUNT.hex()}" in reader.started.lower()


@pytest.mark.system
def test_tutorial_runs_by_http(reader: Reader) -> None:
    for place, block in typed_and_shown([*ACCOUNTS, *HTTP])[1].items():
        reader.check(block, reader.by_http[place])


@pytest.mark.slow
@pytest.mark.system
def test_tutorial_runs_in_typescript(reader: Reader, tarball: Path) -> None:
    wanted = json.loads((clients.TYPESCRIPT / "package.json").read_text())["devDependencies"]
    [install, *commands], shown = typed_and_shown(TYPESCRIPT)
    make, *lines, npm = install.code.splitlines()
    assert make == "make client-packages"
    pinned = {"../../build/clients/*.tgz": str(tarball), "viem": f"viem@{wanted['viem']}", "tsx": TSX}
    own = [pinned.get(word, word) for word in shlex.split(npm)]
    assert set(pinned.values()) < set(own)
    reader.type([Block("", "sh", 0, "\n".join(lines))])
    folder = reader.folder / "tutorial" / "typescript"
    quiet = [each for each in NPM_CI if each.startswith("--")]
    node()
    run(*own, f"typescript@{wanted['typescript']}", NODE_TYPES, *quiet, "--prefer-offline", cwd=folder)
    reader.save(TYPESCRIPT)
    (folder / "tsconfig.json").write_text(json.dumps(TSC))
    run(node(), "node_modules/typescript/bin/tsc", "--project", ".", cwd=folder)
    for place, printed in enumerate(reader.type(commands, "tutorial/typescript")):
        reader.check(shown[place + 1], printed)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of the environment that the page makes."""
    venv, pip = PYTHON[0].code.splitlines()
    assert venv == "python3 -m venv tutorial/python"
    assert shlex.split(pip)[:2] == ["tutorial/python/bin/pip", "install"]
    return workshop.project(tmp_path_factory.mktemp("python"), *shlex.split(pip)[2:])


@pytest.mark.slow
@pytest.mark.system
def test_tutorial_runs_in_python(reader: Reader, interpreter: str) -> None:
    [_, *commands], shown = typed_and_shown(PYTHON)
    folder = reader.folder / "tutorial" / "python"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(interpreter)} "$@"\n')
    (folder / "bin" / "python").chmod(0o755)
    reader.save(PYTHON)
    for place, printed in enumerate(reader.type(commands)):
        reader.check(shown[place + 1], printed)


@pytest.mark.slow
def test_python_programs_have_types(interpreter: str, tmp_path: Path) -> None:
    for name, block in programs_of(PYTHON).items():
        file = tmp_path / Path(name).name
        file.write_text(f"{block.code}\n")
        if file.stem != "setup":  # mypy reads it with the programs that import it
            workshop.check_types(interpreter, file)
