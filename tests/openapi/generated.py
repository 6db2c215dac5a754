"""Clients that are generated from the OpenAPI document and checked as strictly as their languages can.

Made once for a document and stored in .tmp/: that takes ten seconds to a minute, calling them one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tests.grpcweb.node import ROOT, install, locked, node, run
from tests.programs import missing, program

SOURCES = Path(__file__).parent / "clients"
WORKSHOP = ROOT / ".tmp" / "openapi-clients"
BIN = Path(sys.executable).parent
GENERATOR = str(BIN / "openapi-python-client")
OF_GENERATOR = SOURCES / "generator"
"""What calls the clients of openapi-generator."""
OPENAPI_GENERATOR = str(BIN / "openapi-generator-cli")
CODE_ONLY = "apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
LONG_SECONDS = 900
JDK = "default-jdk-headless"
ANNOTATIONS = Path("/usr/share/java/jakarta-annotation-api.jar")
"""What the client for Java imports, of Debian: its own registry may be out of reach."""
GO_FILES = {
    "go.mod": "module example.org/calls\n\ngo 1.19\n\nrequire gopkg.in/validator.v2 v2.0.1\n",
    "vendor/modules.txt": "# gopkg.in/validator.v2 v2.0.1\n## explicit\ngopkg.in/validator.v2\n",
    # In place of the one package that the client for Go imports. It validates by the tags of fields, and is
    # called with an argument's text or list, which have no fields.
    "vendor/gopkg.in/validator.v2/validator.go": "package validator\n\n"
    "func Validate(value interface{}) error { return nil }\n",
}
CRATES = Path("/usr/share/cargo/registry")
CRATES_MISSING = (
    "crates are not installed: apt-get install librust-chrono-dev librust-reqwest-dev librust-serde-dev "
    "librust-serde-derive-dev librust-serde-json-dev librust-serde-repr-dev librust-tokio-dev librust-url-dev"
)
RUST_FILES = {
    # The versions that Debian has, some older than those that the generator names.
    "Cargo.toml": """[package]
name = "gateway"
version = "0.0.0"
edition = "2021"

[dependencies]
chrono = { version = "0.4", features = ["serde"] }
reqwest = { version = "0.11", features = ["json"] }
serde = { version = "1", features = ["derive"] }
serde_json = "1"
serde_repr = "0.1"
tokio = { version = "1", features = ["rt", "macros"] }
url = "2"
""",
    ".cargo/config.toml": f"""[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "{CRATES}"
""",
}
JSON_NET = "node_modules/jillejr.newtonsoft.json-for-unity/Plugins/Newtonsoft.Json Editor/Newtonsoft.Json.dll"
"""Json.NET as npm has it: .NET's own registry may be out of reach."""
MONO = (
    "mono-mcs mono-runtime libmono-system-componentmodel-dataannotations4.0-cil "
    "libmono-system-net-http4.0-cil libmono-system-runtime-serialization4.0-cil libmono-system-web4.0-cil"
)
MONO_ASSEMBLIES = ("ComponentModel.DataAnnotations", "Net.Http", "Runtime.Serialization", "Web")
POLLY = """// In place of the package by which the client for C# retries. The calls set no policy for it.
namespace Polly
{
    public enum OutcomeType { Successful, Failure }

    public class PolicyResult<T>
    {
        public OutcomeType Outcome;
        public T Result;
        public System.Exception FinalException;
    }

    public interface ISyncPolicy<T> { }

    public interface IAsyncPolicy<T>
    {
        System.Threading.Tasks.Task<PolicyResult<T>> ExecuteAndCaptureAsync(
            System.Func<System.Threading.Tasks.Task<T>> send);
    }
}
"""
SERDE_WITH = ', with = "::serde_with::rust::double_option"'
"""Of a crate that Debian lacks: it tells null from a missing field, in two that the gateway ignores."""
CHECKER = (str(BIN / "mypy"), "--strict", "--config-file", os.devnull, "--cache-dir", "mypy-cache")


def typescript(document: bytes) -> tuple[str, ...]:
    """The command that calls every operation with openapi-typescript's types, as ``tsc`` compiled it."""
    node_path = node()
    return node_path, str(_made("typescript", document, lambda folder: _typescript(node_path, folder)))


def python(document: bytes) -> tuple[str, ...]:
    """The command that calls every operation with openapi-python-client's package, as mypy checked it."""
    return sys.executable, str(_made("python", document, _python))


def openapi_generator_fetch(document: bytes) -> tuple[str, ...]:
    """The command that calls openapi-generator's client for TypeScript with fetch."""
    node_path = node()
    return node_path, str(_made("fetch", document, lambda folder: _of_generator(node_path, folder, "fetch")))


def openapi_generator_axios(document: bytes) -> tuple[str, ...]:
    """The command that calls openapi-generator's client for TypeScript with axios."""
    node_path = node()
    return node_path, str(_made("axios", document, lambda folder: _of_generator(node_path, folder, "axios")))


def openapi_generator_go(document: bytes) -> tuple[str, ...]:
    """The program that calls openapi-generator's client for Go."""
    return (str(_made("go", document, _go)),)


def openapi_generator_java(document: bytes) -> tuple[str, ...]:
    """The command that calls openapi-generator's client for Java."""
    java = program("java", JDK)
    classes = _made("java", document, _java)
    return java, "-cp", f"{classes}:{_jar()}:{ANNOTATIONS}", "Calls"


def openapi_generator_csharp(document: bytes) -> tuple[str, ...]:
    """The command that calls openapi-generator's client for C#."""
    node_path = node()
    return program("mono", MONO), str(_made("csharp", document, lambda folder: _csharp(node_path, folder)))


def openapi_generator_rust(document: bytes) -> tuple[str, ...]:
    """The program that calls openapi-generator's client for Rust."""
    return (str(_made("rust", document, _rust)),)


def _typescript(node_path: str, folder: Path) -> Path:
    install(node_path, SOURCES, folder)
    tools = folder / "node_modules" / ".bin"
    run(str(tools / "openapi-typescript"), "openapi.json", "--output", "schema.ts", cwd=folder)
    run(str(tools / "tsc"), "--project", ".", cwd=folder)
    return folder / "built" / "calls.js"


def _python(folder: Path) -> Path:
    package = folder / "gateway_client"
    settings = folder / "settings.json"
    settings.write_text('{"post_hooks": [], "package_name_override": "gateway_client"}')
    shutil.rmtree(package, ignore_errors=True)
    made = ("--path", "openapi.json", "--output-path", package.name, "--meta", "none", "--fail-on-warning")
    run(GENERATOR, "generate", *made, "--config", settings.name, cwd=folder)
    (package / "py.typed").touch()
    shutil.copy(SOURCES / "calls.py", folder)
    run(*CHECKER, "calls.py", package.name, cwd=folder)
    return folder / "calls.py"


def _generate(folder: Path, language: str, output: Path, *options: str) -> None:
    """Run openapi-generator on the document of the folder."""
    program("java", JDK)
    shutil.rmtree(output, ignore_errors=True)
    command = (OPENAPI_GENERATOR, "generate", "-i", "openapi.json", "-g", language, "-o", str(output))
    run(*command, "--global-property", CODE_ONLY, *options, cwd=folder, timeout=LONG_SECONDS)


def _of_generator(node_path: str, folder: Path, name: str) -> Path:
    install(node_path, SOURCES, folder)
    inner = folder / "program"
    inner.mkdir(exist_ok=True)
    for source in (f"{name}.ts", "tsconfig.json"):
        shutil.copy(OF_GENERATOR / source, inner)
    options = "importFileExtension=.js,useSingleRequestParameter=true"
    output = inner / "generated"
    _generate(folder, f"typescript-{name}", output, "--additional-properties", options)
    run(str(folder / "node_modules" / ".bin" / "tsc"), "--project", "program", cwd=folder)
    return inner / "built" / f"{name}.js"


def _go(folder: Path) -> Path:
    go = program("go", "golang-go")
    _generate(folder, "go", folder / "gateway", "--additional-properties", "packageName=gateway")
    for file in ("go.mod", "go.sum"):
        (folder / "gateway" / file).unlink()
    shutil.copy(OF_GENERATOR / "calls.go", folder)
    shutil.rmtree(folder / "vendor", ignore_errors=True)
    for file, text in GO_FILES.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    environment = os.environ | {"GOPROXY": "off", "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=vendor"}
    run(go, "vet", ".", cwd=folder, env=environment, timeout=LONG_SECONDS)
    run(go, "build", "-o", "calls", ".", cwd=folder, env=environment, timeout=LONG_SECONDS)
    return folder / "calls"


def _java(folder: Path) -> Path:
    javac = program("javac", JDK)
    if not ANNOTATIONS.exists():
        missing("Jakarta's annotations are not installed: apt-get install libjakarta-annotation-api-java")
    # A list or a text has no class of its own in Java: docs/clients.md#generated.
    options = "library=native,openApiNullable=false,useJakartaEe=true"
    mapped = ("--schema-mappings", "CallArgument_value=Object")
    _generate(folder, "java", folder / "generated", "--additional-properties", options, *mapped)
    shutil.copy(OF_GENERATOR / "Calls.java", folder)
    classes = folder / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    made = sorted(map(str, (folder / "generated" / "src" / "main").rglob("*.java")))
    libraries = ("-cp", f"{_jar()}:{ANNOTATIONS}")
    command = (javac, "-proc:none", "-nowarn", "-d", str(classes), *libraries)
    run(*command, "Calls.java", *made, cwd=folder, timeout=LONG_SECONDS)
    return classes


def _csharp(node_path: str, folder: Path) -> Path:
    compiler = program("mcs", MONO)
    install(node_path, SOURCES, folder)
    options = "library=httpclient,targetFramework=netstandard2.0,validatable=false"
    _generate(folder, "csharp", folder / "generated", "--additional-properties", options)
    shutil.copy(OF_GENERATOR / "Calls.cs", folder)
    shutil.copy(folder / JSON_NET, folder)
    (folder / "Polly.cs").write_text(POLLY)
    made = sorted(map(str, (folder / "generated" / "src").rglob("*.cs")))
    libraries = ("-r:Newtonsoft.Json.dll", *(f"-r:System.{name}.dll" for name in MONO_ASSEMBLIES))
    command = (compiler, "-out:calls.exe", "-langversion:latest", *libraries)
    run(*command, "Calls.cs", "Polly.cs", *made, cwd=folder, timeout=LONG_SECONDS)
    return folder / "calls.exe"


def _rust(folder: Path) -> Path:
    cargo = program("cargo")
    if not list(CRATES.glob("reqwest-*")):
        missing(CRATES_MISSING)
    crate = folder / "crate"
    _generate(folder, "rust", crate, "--additional-properties", "packageName=gateway")
    for file, text in RUST_FILES.items():
        (crate / file).parent.mkdir(exist_ok=True)
        (crate / file).write_text(text)
    for source in (crate / "src" / "models").iterdir():
        source.write_text(source.read_text().replace(SERDE_WITH, ""))
    shutil.copy(OF_GENERATOR / "calls.rs", crate / "src" / "main.rs")
    run(cargo, "build", "--offline", "--target-dir", str(folder / "target"), cwd=crate, timeout=LONG_SECONDS)
    return folder / "target" / "debug" / "gateway"


def _jar() -> Path:
    """openapi-generator itself: it has Jackson, which its client for Java needs as well."""
    found = find_spec("openapi_generator_cli")
    assert found
    assert found.origin
    return Path(found.origin).parent / "openapi-generator.jar"


def _made(name: str, document: bytes, make: Callable[[Path], Path]) -> Path:
    """The program of a client. Other processes wait while one makes it."""
    folder = WORKSHOP / name
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(document)
    for source in sorted(each for each in SOURCES.rglob("*") if each.is_file()):
        digest.update(source.read_bytes())
    with locked(folder / "lock"):
        stamp = folder / "made"
        if not stamp.exists() or stamp.read_text().splitlines()[0] != digest.hexdigest():
            (folder / "openapi.json").write_bytes(document)
            stamp.unlink(missing_ok=True)
            program = make(folder)
            stamp.write_text(f"{digest.hexdigest()}\n{program}\n")
        return Path(stamp.read_text().splitlines()[1])
