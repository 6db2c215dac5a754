"""Functions that make the bodies of public answers, for the console: it is handed them at the start."""

from __future__ import annotations

from collections.abc import Callable

from app.api.answers import body, refusal_body
from app.api.schemas import CompatStatusAnswer, EstimateAnswer, StatusAnswer
from app.domain.estimate.estimate import estimate
from app.domain.estimate.inputs import EstimateInputs
from app.domain.estimate.refusals import EstimateRefused
from app.domain.keys import TransferId
from app.runtime.gateway import Gateway
from app.services.transfers.status import transfer_status


def status_answerer(*, compat_clients: bool) -> Callable[[Gateway, TransferId], bytes]:
    """A function from a known transfer's id to the body of ``getTransferStatus``, byte for byte.

    It raises what the service raises.
    """
    shape = CompatStatusAnswer() if compat_clients else StatusAnswer()

    def answer_status(gateway: Gateway, transfer_id: TransferId) -> bytes:
        return body(shape, transfer_status(gateway, transfer_id))

    return answer_status


def estimate_answerer() -> Callable[[EstimateInputs], bytes]:
    """A function from an estimate's inputs to the body of ``estimateAmt``, byte for byte, refusals too."""
    shape = EstimateAnswer()

    def answer_estimate(inputs: EstimateInputs) -> bytes:
        try:
            return body(shape, estimate(inputs))
        except EstimateRefused as refused:
            return refusal_body(shape, refused.code, refused.msg)

    return answer_estimate
