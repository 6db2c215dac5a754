"""Fresh projects of strangers: each installs the TypeScript package and runs its README."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from scripts import clients
from tests.grpcweb.node import NPM_CI, node, run
from tests.serving.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.system]

GATEWAY = "https://gateway.example"
REFUND = "0x" + "8".zfill(64)
README = re.findall(
    r"^```ts\n(.*?)^```$", (clients.TYPESCRIPT / "README.md").read_text(), re.MULTILINE | re.DOTALL
)[:3]
"""Those that the sandbox answers. The last sends a transfer, on the chains of ``test_guide``."""

EVM = f"""
import {{ Gateway }} from "transfer-gateway-client";
import {{ type Refund, verifyEvidence }} from "transfer-gateway-client/evm";

const gateway = new Gateway("{GATEWAY}");
const evidence = await gateway.evidence("{REFUND}", {{ timeout: 60 }});
const refund: Refund = await verifyEvidence(evidence, await gateway.configs(), "{REFUND}");
console.log(refund.kind, refund.chainId, refund.contract);
"""
"""What a README leaves out: the part that needs viem."""

PRINTED = [
    "send(address,address,uint256,uint64,uint64,uint32)",
    "5 true nobody",
    "\n".join(
        [f"{REFUND} 8", *(f"{before} {after} false" for before, after in pairwise((0, 1, 3, 6, 7, 8)))]
    ),
    "pool 1 0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820",
]
DENO = "deno@2.9.6"
STRICT = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True,
    "noPropertyAccessFromIndexSignature": True, "noImplicitOverride": True, "isolatedModules": True,
    "target": "es2022", "lib": ["es2022", "dom", "dom.iterable"], "types": [], "outDir": "built",
}  # fmt: skip
OLD_RESOLVER = {"module": "commonjs", "moduleResolution": "node10"}
"""Of CommonJS, which knows no `exports`; ``test_guide`` has a project of ES modules."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, tarball: Path) -> Path:
    """A folder whose packages the projects in it find. No package may run anything at install."""
    folder = tmp_path_factory.mktemp("strangers")
    (folder / "package.json").write_text(json.dumps({"private": True}))
    wanted = json.loads((clients.TYPESCRIPT / "package.json").read_text())["devDependencies"]
    others = [f"{name}@{wanted[name]}" for name in ("typescript", "viem")]
    quiet = [each for each in NPM_CI if each.startswith("--")]
    node()
    run("npm", "install", *quiet, "--prefer-offline", str(tarball), *others, DENO, cwd=folder)
    return folder


def programs(base: str) -> list[str]:
    return [text.replace(GATEWAY, base) for text in (*README, EVM)]


def in_function(text: str) -> str:
    """CommonJS cannot await outside of a function."""
    lines = text.splitlines()
    imports = [line for line in lines if line.startswith("import ")]
    rest = [line for line in lines if not line.startswith("import ")]
    return "\n".join([*imports, "async function main(): Promise<void> {", *rest, "}", "void main();"])


def check_printed(printed: list[str]) -> None:
    for expected, found in zip(PRINTED, printed, strict=True):
        assert expected in found


def test_node_project_of_commonjs_runs_readme(installed: Path, server: Server) -> None:
    project = installed / "commonjs"
    project.mkdir()
    (project / "package.json").write_text(json.dumps({"type": "commonjs"}))
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT | OLD_RESOLVER}))
    texts = [in_function(text) for text in programs(server.base)]
    for number, text in enumerate(texts):
        (project / f"p{number}.ts").write_text(text)
    tsc = str(installed / "node_modules/typescript/bin/tsc")
    # viem's types are wrong without --skipLibCheck for resolvers that know no `exports`.
    run(node(), tsc, "--project", ".", "--skipLibCheck", cwd=project)
    check_printed([run(node(), f"built/p{number}.js", cwd=project) for number in range(len(texts))])


def test_deno_project_runs_readme(installed: Path, server: Server) -> None:
    project = installed / "deno"
    project.mkdir()
    deno = str(installed / "node_modules/.bin/deno")
    settings = {"cwd": project, "env": {**os.environ, "DENO_DIR": str(project / "cache")}}
    modules = "--node-modules-dir=manual"
    texts = programs(server.base)
    for number, text in enumerate(texts):
        (project / f"p{number}.ts").write_text(text)
    names = [f"p{number}.ts" for number in range(len(texts))]
    run(deno, "check", modules, *names, **settings)
    check_printed(
        [run(deno, "run", modules, "--allow-net", "--allow-env", name, **settings) for name in names]
    )
