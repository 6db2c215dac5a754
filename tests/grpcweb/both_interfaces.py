"""A client of both interfaces: it sends each HTTP request of a test over gRPC-Web as well.

The tests of HTTP run with it as they are, so that its cases are those of gRPC-Web.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from flask.testing import FlaskClient
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from werkzeug.test import TestResponse

from tests.api.shapes import (
    CONFIGS,
    CONFIGS_FOR_ALL,
    ESTIMATE,
    HISTORY,
    LATENCY,
    SEND,
    STATUS,
    TOKEN_INFO,
)
from tests.grpcweb.wire import INTERNAL, INVALID_ARGUMENT, METHODS, OK, UNAVAILABLE, Answer, frame, post

STATUS_OF = {200: OK, 400: INVALID_ARGUMENT, 500: INTERNAL, 503: UNAVAILABLE}
METHOD_OF = {
    ESTIMATE: "EstimateAmt",
    SEND: "GetSendTransaction",
    STATUS: "GetTransferStatus",
    LATENCY: "GetLatest7DayTransferLatencyForQuery",
    HISTORY: "TransferHistory",
    CONFIGS: "GetTransferConfigs",
    CONFIGS_FOR_ALL: "GetTransferConfigsForAll",
    TOKEN_INFO: "GetTokenInfo",
}
"""The operations that both interfaces serve."""

BITS = {FieldDescriptor.TYPE_UINT32: 32, FieldDescriptor.TYPE_UINT64: 64}


class BothInterfaces(FlaskClient):
    """Fails the test where the two answers differ."""

    compared = 0

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        path = re.sub("^/v1/", "/v2/", response.request.path)
        if path in METHOD_OF and response.status_code in STATUS_OF:
            message = message_of(path, response, kwargs)
            if message is not None:
                compare(path, response, self._send(path, message, response))
                BothInterfaces.compared += 1
        return response

    def _send(self, path: str, message: Message, over_http: TestResponse) -> Answer:
        """The same request from the same address."""
        names = ("REMOTE_ADDR", "HTTP_X_FORWARDED_FOR")
        environ = {
            name: over_http.request.environ[name] for name in names if name in over_http.request.environ
        }
        body = frame(message.SerializeToString())
        client = FlaskClient(self.application, self.application.response_class)
        return post(client, METHOD_OF[path], body, environ_overrides=environ)


def message_of(path: str, over_http: TestResponse, kwargs: dict[str, Any]) -> Message | None:
    """The request as a message, None where no message is the same."""
    if over_http.status_code == 200 and over_http.request.method == "HEAD":
        return None
    if path == STATUS:
        return status_message(over_http, kwargs)
    if path in (CONFIGS, CONFIGS_FOR_ALL):
        return METHODS[METHOD_OF[path]][0]()
    if path == HISTORY:
        return history_message(over_http)
    return query_message(path, over_http.request.environ["QUERY_STRING"])


def status_message(over_http: TestResponse, kwargs: dict[str, Any]) -> Message | None:
    """JSON that cannot be read has no counterpart."""
    body = kwargs.get("json")
    if body is None:
        if over_http.status_code == 400 and over_http.get_json()["err"]["msg"].startswith("body: "):
            return None
        body = json.loads(kwargs["data"])
    transfer_id = body.get("transfer_id", "")
    return METHODS["GetTransferStatus"][0](transfer_id=transfer_id) if isinstance(transfer_id, str) else None


def history_message(over_http: TestResponse) -> Message | None:
    """A page size that is no number of 64 bits, and what comes twice or is not text, have no counterpart."""
    body = over_http.get_json()
    fault = body["err"]["msg"] if body["err"] else ""
    if fault.startswith(("page_size: ", "addr: ")) or "UTF-8" in fault or "more than once" in fault:
        return None
    values = parse_qs(over_http.request.environ["QUERY_STRING"])
    return METHODS["TransferHistory"][0](
        acct_addr=values.get("acct_addr[]", []) + values.get("acct_addr", []),
        addr=values.get("addr", [""])[0],
        page_size=int(values.get("page_size", ["0"])[0]),
        next_page_token=values.get("next_page_token", [""])[0],
    )


def query_message(path: str, query: str) -> Message | None:
    """None for what comes twice or is not text, numbers that are none or missing, an explicit false; of a
    send also for a parameter that it does not have, and without a nonce: each answer has another one.
    """
    request = METHODS[METHOD_OF[path]][0]
    kinds = {field.name: field.type for field in request.DESCRIPTOR.fields}
    values: dict[str, str] = {}
    for part in query.split("&"):
        name, _, raw = part.partition("=")
        try:
            name = unquote_to_bytes(name.encode("latin-1")).decode()
        except UnicodeDecodeError:
            continue
        if name not in kinds and path == SEND:
            return None
        if name not in kinds:
            continue
        if name in values or re.search("%(?![0-9A-Fa-f]{2})", raw):
            return None
        try:
            values[name] = unquote_to_bytes(raw.replace("+", " ").encode("latin-1")).decode()
        except UnicodeDecodeError:
            return None
    if path == SEND and "nonce" not in values:
        return None
    fields: dict[str, Any] = {}
    for name, kind in kinds.items():
        text = values.get(name, "")
        if kind in BITS:
            if not re.fullmatch("[0-9]{1,78}", text) or int(text) >= 1 << BITS[kind]:
                return None
            fields[name] = int(text)
        elif kind == FieldDescriptor.TYPE_BOOL:
            if text and text.lower() not in ("true", "t", "1"):
                return None
            fields[name] = bool(text)
        else:
            fields[name] = text
    return request(**fields)


def compare(path: str, over_http: TestResponse, over_grpc: Answer) -> None:
    """Field by field."""
    body = over_http.get_json()
    assert over_grpc.status == STATUS_OF[over_http.status_code], over_grpc.text
    assert over_grpc.reason == over_http.headers.get("X-Gateway-Reason")
    if over_grpc.status != OK:
        assert over_grpc.text == body["err"]["msg"]
        return
    assert over_grpc.message is not None
    answer = as_json(path, over_grpc.message)
    if "bridge_rate" in body:
        (body["bridge_rate"],) = struct.unpack("<f", struct.pack("<f", body["bridge_rate"]))
    for transfer in body.get("history", ()):  # their message has no place for them
        for name in ("sender", "receiver", "dst_deadline"):
            assert isinstance(transfer.pop(name), str)
        for leg in ("src_send_info", "dst_received_info"):
            chain = transfer[leg]["chain"]
            chain["suggested_gas_cost"] = chain["suggested_gas_cost"] or "0"  # of an unknown chain
    if path in (CONFIGS, CONFIGS_FOR_ALL, TOKEN_INFO):
        body = of_fields(body, METHODS[METHOD_OF[path]][1].DESCRIPTOR)
    if "bridge_type" not in body:  # over HTTP with COMPAT_CLIENTS=0
        answer.pop("bridge_type", None)
    assert without_base_fees(answer) == body


def without_base_fees(answer: Any) -> Any:
    """Only messages have the field, as 0: the network of the tests suggests none."""
    if isinstance(answer, list):
        return [without_base_fees(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    assert not answer.get("suggested_base_fee")
    return {name: without_base_fees(each) for name, each in answer.items() if name != "suggested_base_fee"}


def as_json(path: str, answer: bytes) -> dict[str, Any]:
    """A message in the shape of the HTTP answer."""
    message = METHODS[METHOD_OF[path]][1].FromString(answer)
    values: dict[str, Any] = {
        field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields if field.name != "err"
    }
    err: Any = getattr(message, "err") if message.HasField("err") else None  # noqa: B009
    values["err"] = err and {"code": err.code, "msg": err.msg}
    if path == STATUS:
        values["wd_onchain"] = base64.b64encode(values["wd_onchain"]).decode() or None
        for name in ("sorted_sigs", "signers", "powers"):
            values[name] = [base64.b64encode(each).decode() for each in values[name]]
    if path == SEND:
        for name in ("transaction", "approval"):
            values[name] = plain_json(values[name]) if message.HasField(name) else None
        values["transfer_id"] = values["transfer_id"] or None
    if path == HISTORY:
        values |= plain_json(message) | {"err": values["err"]}
    if path in (CONFIGS, CONFIGS_FOR_ALL, TOKEN_INFO):
        values |= {"token_info": None} if path == TOKEN_INFO else {}
        values |= MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        ) | {"err": values["err"]}
    return values


def plain_json(message: Any) -> dict[str, Any]:
    """Integers of 64 bits are strings, those of enums numbers."""
    return dict(
        MessageToDict(
            message,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
            use_integers_for_enums=True,
        )
    )


def of_fields(value: Any, of: Any) -> Any:
    """The fields of the JSON that the message has. JSON has others next to them, which clients use."""
    if isinstance(value, list):
        return [of_fields(each, of) for each in value]
    if not isinstance(value, dict) or of is None:
        return value
    if of.GetOptions().map_entry:
        return {key: of_fields(each, of.fields_by_name["value"].message_type) for key, each in value.items()}
    found = of.fields_by_name
    return {key: of_fields(each, found[key].message_type) for key, each in value.items() if key in found}
