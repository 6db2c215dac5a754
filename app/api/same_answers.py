"""What the public door answers, for those who show it: the console is handed this when the app is made."""

from __future__ import annotations

from collections.abc import Callable

from app.api.answers import body
from app.api.schemas import CompatStatusAnswer, StatusAnswer
from app.services.gateway import Gateway
from app.services.transfer_status import transfer_status


def status_answerer(*, compat_clients: bool) -> Callable[[Gateway, bytes], bytes]:
    """A function from a known transfer's id to the body of ``getTransferStatus``, byte for byte.

    It raises what the service raises; the door would answer that as an error.
    """
    shape = CompatStatusAnswer() if compat_clients else StatusAnswer()

    def answer_status(gateway: Gateway, transfer_id: bytes) -> bytes:
        return body(shape, transfer_status(gateway, transfer_id))

    return answer_status
