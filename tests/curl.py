"""The request of a curl on a page."""

from __future__ import annotations

import shlex

BASE = "http://127.0.0.1:8000"
"""Where the pages find the gateway, as `make run` starts it."""


def curl_of(command: str) -> tuple[str, str, dict[str, str], str | None]:
    """Method, path, headers and body of the request that a curl sends."""
    words = iter(shlex.split(command.replace("\\\n", " "))[1:])
    method, headers, data, url = "", dict[str, str](), list[str](), ""
    for word in words:
        match word:
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                data.append(next(words))
            case "--max-time":
                next(words)
            case "-G" | "-i" | "-N":
                pass  # the data is the query; the headers are shown, too; what comes is shown at once
            case _:
                assert not url, f"{command}: {word}"
                url = word
    assert url.startswith(BASE)
    path, joined = url.removeprefix(BASE), "&".join(data)
    if "-G" in shlex.split(command):
        return method or "GET", f"{path}?{joined}", headers, None
    return method or ("POST" if data else "GET"), path, headers, joined or None
