"""The clients installed from their folders as a user does it, and every snippet of docs/clients.md."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from app.values.crypto import checksum_address
from demo.chains import DECIMALS, DEPLOYER, LEFT, PLENTY, RIGHT, USDX, USERS
from scripts import clients
from tests.clients import workshop
from tests.clients.deliveries import BODY, SECRET, signature
from tests.clients.stage import Stage, play, sends
from tests.curl import BASE
from tests.grpcweb.node import NPM_CI, node, run
from tests.serving.server import Server
from tests.site.snippets import block_of, blocks_of

SNIPPETS = blocks_of("docs/clients.md", "ts", "python")
QUOTE, WAIT, FOLLOW, CLAIM, WEBHOOK, SEND, ASYNCIO = range(7)

INSTALL = block_of("docs/clients.md", "make client-packages")
MAKE, NPM, PIP = (shlex.split(line) for line in INSTALL.code.splitlines())
RUN = [*SNIPPETS, INSTALL]
GATEWAY, NODE = "https://gateway.example", "https://node.example"
USER, REFUND = "0x5a5A5a5a5a5a5a5A5A5A5A5A5A5a5A5a5A5A0017", "0x" + "8".zfill(64)
TSC = {
    "compilerOptions": {
        "strict": True, "exactOptionalPropertyTypes": True, "module": "nodenext", "target": "es2022",
        "lib": ["es2023", "dom"], "types": [], "outDir": "built",
    },
    "include": ["*.ts"],
}  # fmt: skip

Program = Callable[[str, str], str]
"""Runs a snippet under a name; what it printed."""


def snippets(language: str) -> list[str]:
    return [block.code for block in SNIPPETS if block.fence == language]


def test_both_languages_show_the_same() -> None:
    assert [block.fence for block in SNIPPETS] == [*(["ts", "python"] * ASYNCIO), "python"]
    for typescript, python in zip(snippets("ts"), snippets("python")[:ASYNCIO], strict=True):
        for name in (GATEWAY, NODE, USER, REFUND, SECRET):
            assert (name in typescript) == (name in python)


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory, tarball: Path) -> Program:
    """A project that has installed the client from the tarball that `make client-packages` builds."""
    project = tmp_path_factory.mktemp("typescript")
    wanted = json.loads((clients.TYPESCRIPT / "package.json").read_text())["devDependencies"]
    (project / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    (project / "tsconfig.json").write_text(json.dumps(TSC))
    path = node()
    assert MAKE == ["make", "client-packages"]
    copied = {"./build/clients/*.tgz": str(tarball), "viem": f"viem@{wanted['viem']}"}
    own = [copied.get(word, word) for word in NPM]
    assert set(copied.values()) < set(own)
    quiet = [each for each in NPM_CI if each.startswith("--")]
    run(*own, f"typescript@{wanted['typescript']}", *quiet, "--prefer-offline", cwd=project)

    def program(name: str, text: str) -> str:
        (project / f"{name}.ts").write_text(text)
        run(path, str(project / "node_modules" / "typescript" / "bin" / "tsc"), "--project", ".", cwd=project)
        return run(path, f"built/{name}.js", cwd=project)

    return program


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an environment that has installed the client, with its extra, from its folder."""
    assert PIP[:2] == ["pip", "install"]
    return workshop.project(tmp_path_factory.mktemp("python"), *PIP[2:])


@pytest.fixture
def python(interpreter: str, tmp_path: Path) -> Program:
    def program(name: str, text: str) -> str:
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        return run(interpreter, str(file), cwd=tmp_path, env={"PATH": os.environ["PATH"]})

    return program


@pytest.fixture(params=[pytest.param("ts", marks=[pytest.mark.system, pytest.mark.slow]), "python"])
def language(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def program(request: pytest.FixtureRequest, language: str) -> Program:
    made: Program = request.getfixturevalue("typescript" if language == "ts" else "python")
    return made


@pytest.mark.slow
def test_python_snippets_have_types(interpreter: str, tmp_path: Path) -> None:
    for number, text in enumerate(snippets("python")):
        file = tmp_path / f"snippet_{number}.py"
        file.write_text(f"{text}\n")
        workshop.check_types(interpreter, file)


def test_quote_and_wait(server: Server, language: str, program: Program) -> None:
    quote, wait = (snippets(language)[place].replace(GATEWAY, server.base) for place in (QUOTE, WAIT))
    output = program("quote", quote)
    for part in ("0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820", "send(address,address,uint256,", USER):
        assert part in output
    assert program("wait", wait).lower().split() == ["5", "true", "nobody"]


def test_history_and_following(server: Server, language: str, program: Program) -> None:
    follow = snippets(language)[FOLLOW].replace(GATEWAY, server.base)
    output = program("follow", follow).lower().splitlines()
    assert output == [
        f"{REFUND} 8",
        *(f"{before} {after} false" for before, after in pairwise((0, 1, 3, 6, 7, 8))),
    ]


def test_asyncio_waits_and_follows(server: Server, python: Program) -> None:
    output = python("asyncio_of_guide", snippets("python")[ASYNCIO].replace(GATEWAY, server.base))
    assert output.splitlines() == ["[5, 8]", f"{REFUND} 8"]


def test_webhook_is_verified(language: str, program: Program) -> None:
    moment = int(time.time())
    body = '{"data":{"transfer_id":"0x1","status":5}}'
    signed = signature(body=body, moment=moment)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(moment), "webhook-signature": signed}
    text, sent = f"{snippets(language)[WEBHOOK]}\n", json.dumps(body)
    if language == "ts":
        for given in (sent, json.dumps(BODY)):
            text += f"console.log(await receive({given}, new Headers({json.dumps(headers)})));\n"
    else:
        for given in (sent, json.dumps(BODY)):
            text += f"print(receive({given}.encode(), {headers!r}))\n"
    assert program("webhook", text).split() == ["0x1", "5", "204", "400"]


@pytest.mark.system
@pytest.mark.parametrize("language", [pytest.param("ts", marks=pytest.mark.slow), "python"])
def test_refund_is_claimed_by_client(stage: Stage, language: str, program: Program) -> None:
    output, sender = claimed(stage, program, snippets(language)[CLAIM])
    tx_hash, status = output.split()
    assert status == "10"
    assert stage.sender(LEFT, tx_hash) == sender


@pytest.mark.system
@pytest.mark.parametrize("language", [pytest.param("ts", marks=pytest.mark.slow), "python"])
def test_quote_of_guide_is_sent(stage: Stage, request: pytest.FixtureRequest, language: str) -> None:
    """The guide's account, chains and token are others on the local chains."""
    program: Program = request.getfixturevalue({"ts": "typescript", "python": "python"}[language])
    text, user = snippets(language)[SEND], USERS[0]
    chains = [
        ("srcChainId: 1,", f"srcChainId: {LEFT},"), ("dstChainId: 56,", f"dstChainId: {RIGHT},"),
        ("src_chain_id=1,", f"src_chain_id={LEFT},"), ("dst_chain_id=56,", f"dst_chain_id={RIGHT},"),
    ]  # fmt: skip
    places = [(GATEWAY, stage.base), (NODE, stage.wallets[LEFT]), (USER, checksum_address(user))]
    USDX.call(DEPLOYER, "mint", user, PLENTY).send(stage.nodes[LEFT])
    for name, value in [*chains, *places, ("USDT", "USDX")]:
        assert name in text or (name, value) in chains  # each language spells the chains its own way
        text = text.replace(name, value)
    least, transfer_id, *_, tx_hash = program("send", text).split()
    sent = 25 * 10 ** DECIMALS[RIGHT]  # the guide's amount, in units of the chain where it arrives
    assert 0 < int(least.removesuffix("n")) <= sent  # TypeScript prints a bigint with an n
    receipt = stage.receipt(LEFT, tx_hash)
    assert receipt["status"] == "0x1"
    assert transfer_id.removeprefix("0x") in str(receipt["logs"])


def claimed(stage: Stage, program: Program, text: str) -> tuple[str, str]:
    """What a snippet prints that claims a refund from the contracts, and who has to send the transaction."""
    send = sends()["pool"]
    lives = stage.begun({"pool": send})
    changes = [(BASE, stage.base), (GATEWAY, stage.base), (NODE, stage.wallets[LEFT]), (REFUND, send.text)]
    for name, value in [*changes, (USER, checksum_address(send.sender))]:
        text = text.replace(name, value)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(program, "claim", text)
        play(lives, running.done)
    return running.result(), f"0x{send.sender.hex()}"
