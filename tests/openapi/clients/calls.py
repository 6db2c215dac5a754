"""Every operation, called by what openapi-python-client makes of the document: no cast, no ``Any``."""

from __future__ import annotations

import json
import sys

from gateway_client import Client
from gateway_client.api.health import healthz, readyz
from gateway_client.api.transfers import (
    estimate_amt,
    estimate_amt_by_post,
    get_latest_7_day_transfer_latency_for_query,
    get_refund_evidence,
    get_transfer_configs,
    get_transfer_configs_for_all,
    get_transfer_status,
)
from gateway_client.models import ContractCall, Err, ErrCode, EstimateBody, EstimateForm, StatusBody


def main(base_url: str, transfer_id: str) -> None:
    with Client(base_url=base_url) as client:
        quote = estimate_amt.sync(
            client=client,
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="1000000",
            slippage_tolerance=3000,
        )
        body = EstimateBody(
            src_chain_id="1",
            dst_chain_id=56,
            token_symbol="USDT",
            amt="1000000",
            slippage_tolerance=3000,
            usr_addr=None,
            is_pegged=False,
        )
        posted = estimate_amt_by_post.sync(client=client, body=body)
        form = EstimateForm(
            src_chain_id=1, dst_chain_id=56, token_symbol="USDT", amt="1000000", slippage_tolerance=3000
        )
        as_form = estimate_amt_by_post.sync(client=client, body=form)
        status = get_transfer_status.sync(client=client, body=StatusBody(transfer_id=transfer_id))
        latency = get_latest_7_day_transfer_latency_for_query.sync(
            client=client, src_chain_id=1, dst_chain_id=56
        )
        evidence = get_refund_evidence.sync(client=client, transfer_id=transfer_id)
        configs = get_transfer_configs.sync(client=client)
        everything = get_transfer_configs_for_all.sync(client=client)
        up = healthz.sync(client=client)
        ready = readyz.sync(client=client)
        refused = estimate_amt.sync_detailed(
            client=client,
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="no amount",
            slippage_tolerance=3000,
        )
    assert quote and posted and as_form and status and latency and evidence and configs and everything
    assert up and ready and refused.parsed
    received: int = int(quote.estimated_receive_amt)
    call: ContractCall | None = evidence.call
    assert isinstance(refused.parsed.err, Err)
    code: ErrCode = refused.parsed.err.code
    print(
        json.dumps(
            {
                "received": str(received),
                "posted": posted.estimated_receive_amt,
                "form": as_form.estimated_receive_amt,
                "status": status.status,
                "signatures": len(status.sorted_sigs),
                "latency": latency.median_transfer_latency_in_second > 0,
                "evidence": evidence.valid,
                "call": call.function if call else None,
                "decimals": configs.chain_token["1"].token[0].token.decimal,
                "same": len(configs.chains) == len(everything.chains),
                "health": [up.err, ready.err],
                "refused": [refused.status_code, code, refused.parsed.estimated_receive_amt],
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
