"""The strict JSON reader: refuses what two readers could understand differently, and never crashes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.json_documents import MAX_DEPTH, UnreadableJson, loads

REFUSED = {
    "empty": (b"", "is not JSON"),
    "blank": (b" \n", "is not JSON"),
    "two documents": (b"{} {}", "is not JSON"),
    "cut": (b'{"a": ', "is not JSON"),
    "trailing comma": (b"[1,]", "is not JSON"),
    "comment": (b"// no\n1", "is not JSON"),
    "byte order mark": (b"\xef\xbb\xbf{}", "is not JSON"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "is not JSON"),
    "broken UTF-8": (b'"\xff\xfe"', "is not JSON"),
    "overlong UTF-8": (b'"\xc0\x80"', "is not JSON"),
    "raw surrogate": (b'"\xed\xa0\x80"', "is not JSON"),
    "lone surrogate": (b'"\\ud800"', "is not JSON"),
    "lone surrogate in a key": (b'{"\\udfff": 1}', "is not JSON"),
    "NaN": (b"NaN", "is not JSON"),
    "Infinity": (b"[-Infinity]", "is not JSON"),
    "infinite as a float": (b"1e400", "is not JSON"),
    "leading zero": (b"01", "is not JSON"),
    "plus": (b"+1", "is not JSON"),
    "hexadecimal": (b"0x10", "is not JSON"),
    "underscore": (b"1_000", "is not JSON"),
    "5,000 digits": (b"9" * 5000, "is not JSON"),
    "5,000 zero digits": (b"0." + b"0" * 5000 + b"x", "is not JSON"),
    "raw NUL": (b'"a\x00b"', "is not JSON"),
    "escaped NUL": (b'{"a": ["x\\u0000"]}', "NUL"),
    "escaped NUL in a key": (b'{"a\\u0000": 1}', "NUL"),
    "repeated key": (b'{"a": 1, "b": 2, "a": 1}', "repeats the key 'a'"),
    "repeated key, escaped": (b'{"a": 1, "\\u0061": 1}', "repeats the key 'a'"),
    "repeated key, texts": (b'{"a": "x", "b": "y", "a": "x"}', "repeats the key 'a'"),
    "repeated key, empty": (b'{"": 1, "": 1}', "repeats the key ''"),
    "repeated key, deep": (b'[[{"x": {"k": [], "k": {}}}]]', "repeats the key 'k'"),
    "repeated key hidden by escaped quotes": (b'{"a": "\\"\\"", "a": ""}', "repeats the key 'a'"),
    "100,000 deep": (b"[" * 100_000, "is not JSON"),
    "100,000 deep, closed": (b"[" * 100_000 + b"]" * 100_000, "is not JSON"),
    "100,000 objects deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "is not JSON"),
    "1,000 deep": (b"[" * 1000 + b"]" * 1000, "deep"),
    "too deep by one": (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deep"),
    "deep under a repeated key": (b'{"a":' + b"[" * 1000 + b"]" * 1000 + b',"a":1}', "deeply|repeats"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused_with_a_sentence(text: bytes, reason: str) -> None:
    with pytest.raises(UnreadableJson, match=reason):
        loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1", 1),
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", 2**64),
        (b"-9223372036854775809", -(2**63) - 1),
        (str(2**256).encode(), 2**256),
        (b"[1.5, 123456789012345678901]", [1.5, 123456789012345678901]),
        (b'{"a": 18446744073709551616, "b": -9223372036854775809}', {"a": 2**64, "b": -(2**63) - 1}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\\\u0000"', "\\u0000"),
        (b'{"a": "\\"", "b": "\\u0022"}', {"a": '"', "b": '"'}),
        (b'{"": {"": {}}}', {"": {"": {}}}),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    ],
)
def test_read_exactly(text: bytes, value: Any) -> None:
    read = loads(text)
    assert value is None or (read == value and type(read) is type(value))


plain_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
    max_leaves=20,
)


@given(documents, st.booleans())
def test_strict_reader_reads_json_output(value: Any, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.dictionaries(plain_text, documents, min_size=1, max_size=4), documents, st.data())
def test_a_repeated_key_is_never_missed(value: dict[str, Any], second: Any, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value)[:-1] + f", {json.dumps(key)}: {json.dumps(second)}}}"
    with pytest.raises(UnreadableJson, match="repeats"):
        loads(text.encode())


@given(st.binary(max_size=40))
def test_loads_raises_only_unreadable_json(text: bytes) -> None:
    try:
        loads(text)
    except UnreadableJson as error:
        assert "\n" not in str(error)
