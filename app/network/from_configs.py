"""Makes a network document of the transfer configs that another gateway returns.

Such an answer has no prices: rates are 1, and no fee is known (docs/network.md#from-configs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from app.json_documents import Amount, UnreadableJson, loads
from app.network.configs import configs_answer
from app.network.document import NetworkRefused, read_rows
from app.network.models import Chain, PeggedPair, Token
from app.network.models.chain_tables import known_of_tokens
from app.network.models.columns import declared, published_columns
from app.network.models.route_tables import known_of_pairs
from app.network.schemas import DOCUMENT_VERSION, TOP_FIELDS

EPOCH_SECONDS: Final = 3600
"""The answer has no length of an epoch. This one is written, for the operator to correct."""

UNKNOWN: Final = (
    "The answer does not contain the following; an operator has to add it:",
    "- rates: each route gets the fixed rate 1",
    "- fees: every base fee and every fee tier is null, and estimates are refused as fee_stale until they "
    "are set (fee.updated in the event feed sets only the base fee of a route)",
    "- balances: all pools start at 0",
    f"- the length of an epoch: {EPOCH_SECONDS} seconds",
    "- the contracts' minimum slippage: minimal_max_slippage is 0",
    "- the contracts' bounds of amounts, unless fields of this gateway set them: min_send is the contract's "
    "minSend plus 1, max_send its maxSend, and null where that is 0; a pair's min_deposit, max_deposit, "
    "min_burn and max_burn follow its vault and bridge in the same way",
    "- validators, without which there are no refunds",
    '- explorers whose transactions are not at /tx/: set the tx_path of the chain, such as "/transaction/"',
)

_IMPORTED: Final = "{} in the configuration that was imported"

Json = dict[str, Any]
Way = tuple[str, int, int]


class FromConfigs(Struct, frozen=True):
    """``different`` are sentences about what this gateway answers differently."""

    document: Json
    different: tuple[str, ...]


def document_from_configs(text: bytes) -> FromConfigs:
    """The document of an answer of ``getTransferConfigsForAll``.

    :raises NetworkRefused: it is no such answer, or has what a document cannot have.
    """
    try:
        answer = loads(text)
    except UnreadableJson as error:
        raise NetworkRefused((f"the answer {error}: give the whole answer, as it came",)) from None
    try:
        document = _document(answer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        lacking = (
            f"{error} is missing"
            if isinstance(error, KeyError)
            else f"a value has an unexpected form ({error})"
        )
        raise NetworkRefused(
            (f"not an answer of getTransferConfigsForAll: {lacking}; give the whole answer, as it came",)
        ) from None
    rows = read_rows(document)
    return FromConfigs(document, tuple(differences(answer, configs_answer(rows))))


def _document(answer: Json) -> Json:
    if answer.get("err"):
        raise ValueError("it is an error")
    tokens = {
        (int(chain_id), token["token"]["symbol"]): token
        for chain_id, listed in answer["chain_token"].items()
        for token in listed["token"]
    }
    blocked = [
        (row["symbol"], int(row["src_chain_id"]), int(row["dst_chain_id"]))
        for row in answer.get("blocked_bridge_direct") or ()
    ]
    routes = sorted(_ways(tokens, set(blocked)))
    pooled = {(chain_id, symbol) for symbol, *chains in routes for chain_id in chains}
    return {
        "version": DOCUMENT_VERSION,
        "chains": [_chain(row) for row in answer["chains"]],
        "tokens": [_token(chain_id, token) for (chain_id, _), token in tokens.items()],
        "pools": [
            _pool(key, token)
            for key, token in tokens.items()
            if key in pooled or token.get("inbound_lmt") or token.get("inbound_epoch_cap")
        ],
        "routes": [_route(way) for way in routes],
        "route_blocks": [_block(way) for way in blocked],
        "pegged_pairs": [_pair(pair, tokens) for pair in answer["pegged_pair_configs"]],
        "config_fields": [
            {"name": name, "value": value} for name, value in answer.items() if name not in TOP_FIELDS
        ],
    }


def _ways(tokens: Mapping[tuple[int, str], Json], blocked: set[Way]) -> Iterator[Way]:
    """The ways through the pool as clients derive them (docs/api/getTransferConfigs.md#rules)."""
    chains: dict[str, list[int]] = {}
    for (chain_id, symbol), token in tokens.items():
        if not token["token"]["xfer_disabled"]:
            chains.setdefault(symbol, []).append(chain_id)
    for symbol, of in chains.items():
        yield from (
            (symbol, src, dst) for src in of for dst in of if src != dst and (symbol, src, dst) not in blocked
        )


def _chain(row: Json) -> Json:
    known = {field: row[field] for field in published_columns(Chain) if field in row}
    reason = {"disabled_reason": _IMPORTED.format("disabled")}
    return (
        known
        | {"minimal_max_slippage": 0}
        | (reason if row.get("disabled") else {})
        | _extra(row, published_columns(Chain))
    )


def _token(chain_id: int, token: Json) -> Json:
    """A token. In ``chain_token`` the flag says that it is not sent through the pool."""
    inner = token["token"]
    return {
        "chain_id": chain_id,
        "symbol": inner["symbol"],
        "name": token["name"],
        "icon": token["icon"],
        "address": inner["address"],
        "decimal": inner["decimal"],
        "pool_disabled": inner["xfer_disabled"],
        "transfer_disabled": token.get("transfer_disabled", False),
        **dict(_passed(token)),
        **_extra(token, known_of_tokens()),
    }


def _passed(token: Json) -> Iterator[tuple[str, Any]]:
    """The keys of a token that may be omitted, in the document's order."""
    for column, each in declared(Token).items():
        if each.published and isinstance(each.shape, Amount):
            yield column, token.get(column) or None
        elif each.published and each.left_out and column in token:
            yield column, token[column]


def _pool(key: tuple[int, str], token: Json) -> Json:
    return {
        "chain_id": key[0],
        "symbol": key[1],
        "liquidity_added": "0",
        "total_cap": token.get("inbound_lmt") or None,
        "epoch_cap": token.get("inbound_epoch_cap") or None,
        "epoch_seconds": EPOCH_SECONDS,
    }


def _route(way: Way) -> Json:
    return _named(way) | {
        "rate": {"model": "fixed", "value": "1"},
        "base_fee": None,
        "perc_fee_tiers": None,
    }


def _block(way: Way) -> Json:
    return _named(way) | {
        "both_directions": False,
        "reason": _IMPORTED.format("blocked"),
    }


def _named(way: Way) -> Json:
    return dict(zip(("symbol", "src_chain_id", "dst_chain_id"), way, strict=True))


def _pair(pair: Json, tokens: Mapping[tuple[int, str], Json]) -> Json:
    symbols = [pair[side]["token"]["symbol"] for side in ("org_token", "pegged_token")]
    if symbols[0] != symbols[1]:
        raise ValueError(f"a pair of {symbols[0]} and {symbols[1]}: both tokens must have one symbol")
    chains = pair["org_chain_id"], pair["pegged_chain_id"]
    org_token, pegged_token = (
        _pair_token(pair[side], tokens.get((chain_id, symbols[0])))
        for side, chain_id in zip(("org_token", "pegged_token"), chains, strict=True)
    )
    return {
        "symbol": symbols[0],
        "org_chain_id": chains[0],
        "pegged_chain_id": chains[1],
        "org_token": org_token,
        "pegged_token": pegged_token,
        **{field: pair[field] for field in published_columns(PeggedPair) if field in pair},
        **_bounds("deposit", pair["org_token"], tokens.get((chains[0], symbols[0]))),
        **_bounds("burn", pair["pegged_token"], tokens.get((chains[1], symbols[1]))),
        "deposit_base_fee": None,
        "burn_base_fee": None,
        "perc_fee_tiers": None,
        **_extra(pair, known_of_pairs()),
    }


def _bounds(send: str, token: Json, listed: Json | None) -> Json:
    """The bounds of a pair that differ from its chain's: least and greatest amounts, as in this gateway."""
    sends = {end: token.get(f"{end}_send") for end in ("min", "max")}
    return {
        f"{end}_{send}": amount
        for end, amount in sends.items()
        if amount and (listed is None or amount != listed.get(f"{end}_send"))
    }


def _pair_token(token: Json, listed: Json | None) -> Json:
    """What a pair sets for its token that differs from its chain."""
    flat, of_chain = _flat(token), {} if listed is None else _flat(listed)
    own = {name: value for name, value in flat.items() if of_chain.get(name) != value}
    return own | {"xfer_disabled": token["token"]["xfer_disabled"]} | _extra(token, known_of_tokens())


def _flat(token: Json) -> Json:
    inner = token["token"]
    return {
        "name": token["name"],
        "icon": token["icon"],
        "address": inner["address"],
        "decimal": inner["decimal"],
    }


def _extra(row: Json, known: Iterable[str]) -> Json:
    unknown = row.keys() - set(known)
    extra = {field: value for field, value in row.items() if field in unknown}
    return {"extra": extra} if extra else {}


def differences(theirs: Json, ours: Json) -> Iterator[str]:
    """A sentence for each difference of our answer. What theirs omits is no difference."""
    yield from _different(_keyed(theirs), _keyed(ours), "")


def _keyed(answer: Json) -> Json:
    """The answer with its lists as objects, so that equal rows are compared with each other."""
    return answer | {
        "chains": {str(row["id"]): row for row in answer["chains"]},
        "chain_token": {
            chain_id: {token["token"]["symbol"]: token for token in of["token"]}
            for chain_id, of in answer["chain_token"].items()
        },
        "pegged_pair_configs": {
            f"{row['org_token']['token']['symbol']} {row['org_chain_id']}-{row['pegged_chain_id']}": row
            for row in answer["pegged_pair_configs"]
        },
        "blocked_bridge_direct": {
            f"{row['symbol']} {row['src_chain_id']}-{row['dst_chain_id']}": True
            for row in answer.get("blocked_bridge_direct") or ()
        },
    }


def _different(theirs: Any, ours: Any, path: str) -> Iterator[str]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            where = f"{path}.{key}" if path else str(key)
            if key in ours:
                yield from _different(value, ours[key], where)
            else:
                yield f"{where}: {value!r} is missing in the answers"
        if path == "blocked_bridge_direct":
            yield from (f"{path}.{key}: is added to the answers" for key in ours.keys() - theirs.keys())
    elif theirs != ours:
        yield f"{path}: {theirs!r} becomes {ours!r}"
