"""The documentation's addresses. Pages load nothing from other hosts, and contain no script."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import orjson
from flask import Blueprint, Flask, Response, current_app, request, send_from_directory
from msgspec import Struct
from werkzeug.exceptions import NotFound
from werkzeug.security import safe_join

from app.api.openapi.document import document
from app.http.application import current
from app.http.headers import AS_IT_IS, JSON, NO_STORE, REASON
from app.http.mounted import below
from app.http.public import ANY_ORIGIN, DOCS, EXPOSED, PublicInterface, preflight
from app.http.requests import SANDBOX
from app.values.codes import Reason

PLAIN: Final = "files/"
"""Below it are files of the repository that pages link to. They are shown as text."""

MISSING_PAGE: Final = ".404.html"
"""The file of the page for an address that has none. No address leads to a file with such a name."""

_NAMED_BY_CONTENT: Final = re.compile(r"\.[0-9a-f]{8}(\.min)?\.(js|css)$")
"""Other content would have another name, so caches may store it for ever."""


class SiteFile(Struct, frozen=True):
    """A file of the site. ``moved``: the path of its page lacks the slash at its end."""

    name: str
    moved: bool = False

    @property
    def mimetype(self) -> str | None:
        """The media type, if the file's name does not show it."""
        return "text/plain" if self.name.startswith(PLAIN) else None


def find_file(folder: Path, path: str) -> SiteFile | None:
    """The file of a path below ``/docs/``, which is a name or a page's folder and may be empty; None where
    there is none, or a path leads out.
    """
    within = safe_join(str(folder), path) if path else str(folder)
    if within is None or any(part.startswith(".") for part in path.split("/")):
        return None
    if _is_file(within):
        return None if path.endswith("/") else SiteFile(path)
    if _is_file(f"{within}/index.html"):
        name = f"{path.rstrip('/')}/index.html".lstrip("/")
        return SiteFile(name, moved=bool(path) and not path.endswith("/"))
    return None


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # a name that is too long
        return False


_STATIC: Final = Path(__file__).parent / "static"
_REVALIDATED: Final = ("Cache-Control", "no-cache")
_FOR_EVER: Final = ("Cache-Control", "public, max-age=31536000, immutable")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SEARCH_STYLE: Final = "'sha256-NwSx/R2V/U4jnW0Tq5pQ53Y/rzPVJ4dqE7D6UTA/J1k='"
"""Of the one style that the generator's search uses for itself; a test in tests/browser fails when it
changes."""

_SITE_POLICY: Final = _POLICY.format(styles=f" {_SEARCH_STYLE}")
_DRAWING_POLICY: Final = _POLICY.format(styles=" 'unsafe-inline'")
"""Of pages with a script that draws: the form to try requests, and pages with a picture. These scripts write
styles into what they draw."""

_PICTURE: Final = b'class="mermaid"'
"""Of each picture in a page: the source that the page's script draws."""

_FROM_ROOT: Final = re.compile(r'(?<=[=:]")/')
"""The beginning of each address in the page for a missing address."""

_COMPRESSED: Final = frozenset(
    {
        "text/html",
        "text/css",
        "text/javascript",
        "text/plain",
        "text/markdown",
        "application/json",
        "image/svg+xml",
    }
)
_LEAST_COMPRESSED: Final = 1024
"""Bytes: a smaller file is no faster when compressed."""

_KEY: Final = "docs_site"
_LLMS: Final = "llms.txt"

docs = Blueprint(DOCS, __name__)


def register(app: Flask, site: Path) -> None:
    """Serve the documentation from the folder that ``make docs`` fills; it may be missing, or come later."""
    app.extensions[_KEY] = site
    app.register_blueprint(docs)


@lru_cache(maxsize=16)
def document_bytes(*, compat_clients: bool, waiting: bool, sandbox: bool = False, below: str = "") -> bytes:
    """:param below: the path below which the caller reaches the gateway."""
    return orjson.dumps(
        document(compat_clients=compat_clients, waiting=waiting, sandbox=sandbox, below=below)
    )


@docs.route("/openapi.json", methods=["OPTIONS"])
def redirect_first() -> Response:
    """The preflight of a page that sends back the document's ETag."""
    return preflight(204)


@docs.get("/openapi.json")
def openapi() -> Response:
    compat_clients, served = current(PublicInterface).compat_clients, current_app.blueprints
    body = document_bytes(
        compat_clients=compat_clients,
        waiting="wait" in served,
        sandbox=SANDBOX in served,
        below=request.root_path,
    )
    response = Response(body, headers=(JSON, _REVALIDATED, *AS_IT_IS, ANY_ORIGIN, EXPOSED))
    response.add_etag()
    response.make_conditional(request)
    return response


@docs.get("/")
def start() -> Response:
    """Redirect to the documentation. A program that accepts JSON gets 404, as on any unknown path."""
    if request.accept_mimetypes.best_match(("text/html", "application/json")) == "application/json":
        raise NotFound
    return _to("/docs/", 302)


@docs.get("/docs")
def without_slash() -> Response:
    """The address of earlier versions."""
    return _to("/docs/", 302)


@docs.get("/docs/")
def first_page() -> Response:
    """The first page; where no site was built, how to build one."""
    return _site("") or _page(_STATIC, "unbuilt.html", _SITE_POLICY)


@docs.get(f"/{_LLMS}")
def list_for_language_models() -> Response:
    """The pages as a list of links to Markdown, which are relative to this address (llmstxt.org)."""
    if answer := _site(_LLMS):
        return answer
    raise NotFound


@docs.get(f"/docs/{_LLMS}")
def list_at_root() -> Response:
    return _to(f"/{_LLMS}", 302)


@docs.get("/docs/<path:path>")
def page(path: str) -> Response:
    """A page of the site, or one of its files; where no site was built, a page that says so."""
    if answer := _site(path):
        return answer
    if not (current_app.extensions[_KEY].exists() or path.startswith("try/")):
        return _to("/docs/", 302)
    return _missing()


@docs.get("/docs/try/")
def try_it() -> Response:
    return _page(_STATIC, "try.html", _DRAWING_POLICY)


@docs.get("/docs/try/<name>")
def try_file(name: str) -> Response:
    try:
        return _page(_STATIC, name, _DRAWING_POLICY)
    except NotFound:
        return _missing()


def _site(path: str) -> Response | None:
    folder: Path = current_app.extensions[_KEY]
    found = find_file(folder, path)
    if found is None:
        return None
    if found.moved:
        return _to(f"/docs/{path}/", 302)
    file = folder / found.name
    policy = _DRAWING_POLICY if _has_picture(file, file.stat().st_mtime_ns) else _SITE_POLICY
    return _page(folder, found.name, policy, found.mimetype)


def _missing() -> Response:
    """The page of the site for an address that has none; a program gets its error in JSON.

    :raises NotFound: for a program, and where no site was built.
    """
    file = current_app.extensions[_KEY] / MISSING_PAGE
    wanted = request.accept_mimetypes.best_match(("application/json", "text/html"))
    if wanted != "text/html" or not file.exists():
        raise NotFound
    # Its links begin at the root, because the address that it answers may be of any depth.
    html = _FROM_ROOT.sub(below("/"), file.read_text(encoding="utf-8"))
    response = Response(html, 404, headers=(NO_STORE, *AS_IT_IS), mimetype="text/html")
    response.headers["Content-Security-Policy"] = _SITE_POLICY
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers[REASON] = Reason.PATH_NOT_FOUND.value
    return response


def _page(folder: Path, name: str, policy: str, mimetype: str | None = None) -> Response:
    response = send_from_directory(folder, name, mimetype=mimetype, conditional=False)
    if response.mimetype in _COMPRESSED and (response.content_length or 0) >= _LEAST_COMPRESSED:
        response.vary.add("Accept-Encoding")
        if request.accept_encodings["gzip"]:
            _compress(response, folder / name)
    response.make_conditional(request)
    response.headers.update(AS_IT_IS)
    response.headers["Content-Security-Policy"] = policy
    response.headers["Referrer-Policy"] = "same-origin"
    if _NAMED_BY_CONTENT.search(name):
        response.headers.update([_FOR_EVER])
    return response


def _compress(response: Response, file: Path) -> None:
    """The answer has the file compressed, and an ETag that is not the one of the file as it is."""
    etag, _ = response.get_etag()
    response.close()  # the file that was opened to be sent
    response.direct_passthrough = False
    response.set_data(_compressed(file, file.stat().st_mtime_ns))
    response.headers["Content-Encoding"] = "gzip"
    response.set_etag(f"{etag}-gzip")


@lru_cache(maxsize=512)
def _compressed(file: Path, _changed: int) -> bytes:
    """A file compressed, once for each of its states: the site has some 200."""
    return gzip.compress(file.read_bytes(), mtime=0)


@lru_cache(maxsize=512)
def _has_picture(file: Path, _changed: int) -> bool:
    """Whether a file is a page with a picture, read once for each of its states."""
    return file.suffix == ".html" and _PICTURE in file.read_bytes()


def _to(address: str, status: int) -> Response:
    return Response(status=status, headers={"Location": below(address)})
