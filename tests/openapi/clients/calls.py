"""Every operation, called by what openapi-python-client makes of the document: no cast, no ``Any``."""

# mypy: disable-error-code="import-not-found"
# The package is generated next to a copy of this file.
from __future__ import annotations

import json
import sys

from gateway_client import AuthenticatedClient, Client
from gateway_client.api.health import healthz, readyz, version
from gateway_client.api.transfers import (
    estimate_amt,
    estimate_amt_by_post,
    explain_estimate,
    get_latest_7_day_transfer_latency_for_query,
    get_refund_evidence,
    get_send_transaction,
    get_token_info,
    get_transfer,
    get_transfer_configs,
    get_transfer_configs_for_all,
    get_transfer_latency_stats,
    get_transfer_status,
    get_transfer_status_by_get,
    get_transfer_statuses,
    transfer_history,
    withdraw_liquidity,
)
from gateway_client.api.webhooks import create_webhook, list_webhooks, remove_webhook
from gateway_client.models import (
    ContractCall,
    Err,
    ErrCode,
    EstimateBody,
    EstimateForm,
    FoundTransfer,
    StatusBody,
    StatusesBody,
    TransactionBody,
    WebhookBody,
    WithdrawBody,
)

RECEIVED = "estimated_receive_amt"


def main(base_url: str, transfer_id: str, request: str) -> None:
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
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="1000000",
            slippage_tolerance=3000,
            is_pegged=False,
        )
        posted = estimate_amt_by_post.sync(client=client, body=body)
        form = EstimateForm(
            src_chain_id=1, dst_chain_id=56, token_symbol="USDT", amt="1000000", slippage_tolerance=3000
        )
        as_form = estimate_amt_by_post.sync(client=client, body=form)
        status = get_transfer_status.sync(client=client, body=StatusBody(transfer_id=transfer_id))
        found = get_transfer.sync(client=client, key=transfer_id)
        assert found
        transfer: FoundTransfer = found.transfers[0]
        sent = TransactionBody(
            tx_hash=transfer.src_block_tx_link.rpartition("/")[2],
            src_chain_id=transfer.src_send_info.chain.id,
        )
        by_transaction = get_transfer_status.sync(client=client, body=sent)
        both = get_transfer_statuses.sync(
            client=client, body=StatusesBody(transfer_ids=[transfer_id, "0x" + "ab" * 32])
        )
        history = transfer_history.sync(client=client, acct_addr=[transfer.sender, "nobody"], page_size=10)
        wish = WithdrawBody(withdraw_req=request)
        requested = withdraw_liquidity.sync(client=client, body=wish)
        latency = get_latest_7_day_transfer_latency_for_query.sync(
            client=client, src_chain_id=1, dst_chain_id=56
        )
        figures = get_transfer_latency_stats.sync(client=client, src_chain_id=1, dst_chain_id=56)
        explained = explain_estimate.sync(
            client=client,
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="1000000",
            slippage_tolerance=3000,
        )
        send = get_send_transaction.sync(
            client=client,
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="1000000",
            slippage_tolerance=3000,
            sender="0x" + "5a" * 20,
            nonce="1",
        )
        evidence = get_refund_evidence.sync(client=client, transfer_id=transfer_id)
        by_get = get_transfer_status_by_get.sync(client=client, transfer_id=transfer_id)
        token = get_token_info.sync(client=client, chain_id=1, token_symbol="USDT")
        configs = get_transfer_configs.sync(client=client)
        everything = get_transfer_configs_for_all.sync(client=client)
        up = healthz.sync(client=client)
        ready = readyz.sync(client=client)
        runs = version.sync(client=client)
        refused = estimate_amt.sync_detailed(
            client=client,
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol="USDT",
            amt="no amount",
            slippage_tolerance=3000,
        )
    with AuthenticatedClient(base_url=base_url, token="gwk_none") as owner:
        hooks = list_webhooks.sync_detailed(client=owner)
        new = WebhookBody(url="https://example.org/", accounts=["0x" + "5a" * 20])
        hook = create_webhook.sync_detailed(client=owner, body=new)
        unhooked = remove_webhook.sync_detailed(client=owner, id="whk_none")
    assert hooks.parsed and hook.parsed and unhooked.parsed
    assert quote and posted and as_form and status and latency and evidence and configs and everything
    assert up and ready and runs and refused.parsed and by_transaction and both and history and requested
    assert send and figures and explained and by_get and token and token.token_info
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
                "by get": by_get.status,
                "token": token.token_info.token.decimal,
                "send": [send.err.code if send.err else None, send.transaction],
                "signatures": len(status.sorted_sigs),
                "found": found.state,
                "by transaction": by_transaction.status,
                "statuses": [[each.status, each.err.code if each.err else None] for each in both.statuses],
                "in its history": transfer_id in [each.transfer_id for each in history.history],
                "requested": requested.err.code if requested.err else requested.seq_num,
                "latency": latency.median_transfer_latency_in_second > 0,
                "figures": figures.p99 >= figures.p90 >= figures.median > 0,
                "explained": [
                    explained.refusal,
                    [each.value for each in explained.terms if each.name == RECEIVED],
                ],
                "followed": [[each.terminal, each.next_actor] for each in both.statuses],
                "evidence": evidence.valid,
                "call": call.function if call else None,
                "decimals": configs.chain_token["1"].token[0].token.decimal,
                "same": len(configs.chains) == len(everything.chains),
                "health": [up.err, ready.err, runs.err],
                "webhooks": [
                    [hooks.status_code, len(hooks.parsed.webhooks)],
                    [hook.status_code, len(hook.parsed.webhooks)],
                    [unhooked.status_code, len(unhooked.parsed.webhooks)],
                ],
                "refused": [refused.status_code, code, refused.parsed.estimated_receive_amt],
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
