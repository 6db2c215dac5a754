"""What the gateway answered: the answer, or why there is none."""

from __future__ import annotations

import httpx


class GatewayError(Exception):
    """The gateway answered with an ``err``, or with something that is no answer.

    ``reason`` is ``X-Gateway-Reason``, by which programs decide: code 500 has many causes. ``retry_after`` is
    in seconds, where the gateway says it.
    """

    def __init__(
        self, code: int, text: str, reason: str, http_status: int, retry_after: float | None
    ) -> None:
        super().__init__(f"{text} ({reason or http_status})")
        self.code, self.reason, self.http_status, self.retry_after = code, reason, http_status, retry_after

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed in minutes."""
        is_busy = self.http_status == httpx.codes.TOO_MANY_REQUESTS or self.http_status >= 500
        return is_busy or self.reason == "fee_stale"


def checked(response: httpx.Response) -> object:
    """:raises GatewayError: an ``err``, or no answer of a gateway."""
    try:
        answer: object = response.json()
    except ValueError:
        answer = None
    if response.is_success and isinstance(answer, dict) and answer.get("err", "missing") is None:
        return answer
    code, text = _err_of(answer) or (500, f"no answer of a gateway: HTTP {response.status_code}")
    after = response.headers.get("Retry-After", "")
    raise GatewayError(
        code,
        text,
        response.headers.get("X-Gateway-Reason", ""),
        response.status_code,
        float(after) if after.isdecimal() else None,
    )


def _err_of(answer: object) -> tuple[int, str] | None:
    """Code and text of an ``err``. A proxy may have an ``err`` of its own, of any shape: that is none."""
    err = answer.get("err") if isinstance(answer, dict) else None
    if not isinstance(err, dict) or not isinstance(err.get("code"), int) or "msg" not in err:
        return None
    return err["code"], str(err["msg"])
