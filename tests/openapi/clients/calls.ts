// Every operation, called by what openapi-typescript makes of the document: no cast, no `any`.
import createClient from "openapi-fetch";
import type { components, operations, paths } from "./schema.js";

declare const process: { argv: string[] };

type Shapes = components["schemas"];

const [, , baseUrl = "", transferId = "", request = ""] = process.argv;
const client = createClient<paths>({ baseUrl });

const quote = {
  src_chain_id: 1,
  dst_chain_id: 56,
  token_symbol: "USDT",
  amt: "1000000",
  slippage_tolerance: 3000,
};
const chains = { src_chain_id: 1, dst_chain_id: 56 };

function good<Answer extends { err: Shapes["Err"] | null }>(called: { data?: Answer; response: Response }): Answer {
  if (called.data === undefined) throw new Error(`HTTP ${called.response.status}`);
  return called.data;
}

const estimate = good(await client.GET("/v2/estimateAmt", { params: { query: quote } }));
const received: bigint = BigInt(estimate.estimated_receive_amt);
const posted = good(
  await client.POST("/v2/estimateAmt", { body: { ...quote, is_pegged: false } }),
);
const form = good(
  await client.POST("/v2/estimateAmt", {
    body: quote,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  }),
);
const status = good(await client.POST("/v2/getTransferStatus", { body: { transfer_id: transferId } }));
const byGet = good(await client.GET("/v2/getTransferStatus", { params: { query: { transfer_id: transferId } } }));
const token = good(await client.GET("/v2/getTokenInfo", { params: { query: { chain_id: 1, token_symbol: "USDT" } } }));
const send = good(
  await client.GET("/v2/getSendTransaction", { params: { query: { ...quote, sender: `0x${"5a".repeat(20)}`, nonce: "1" } } }),
);
const sends: Shapes["Transaction"] | null = send.transaction;
const signatures: string[] = status.sorted_sigs;
const found = good(await client.GET("/v2/getTransfer", { params: { query: { key: transferId } } }));
const transfer: Shapes["FoundTransfer"] | undefined = found.transfers[0];
if (transfer === undefined) throw new Error(`no transfer, ${found.state}`);
const sent = {
  tx_hash: transfer.src_block_tx_link.split("/").pop() ?? "",
  src_chain_id: transfer.src_send_info.chain.id,
};
const byTransaction = good(await client.POST("/v2/getTransferStatus", { body: sent }));
const both = good(
  await client.POST("/v2/getTransferStatuses", { body: { transfer_ids: [transferId, `0x${"ab".repeat(32)}`] } }),
);
const history = good(
  await client.GET("/v2/transferHistory", {
    params: { query: { "acct_addr[]": [transfer.sender, "nobody"], page_size: 10 } },
  }),
);
const requested = good(await client.POST("/v2/withdrawLiquidity", { body: { withdraw_req: request } }));
const latency = good(await client.GET("/v2/getLatest7DayTransferLatencyForQuery", { params: { query: chains } }));
const figures = good(await client.GET("/v2/getTransferLatencyStats", { params: { query: chains } }));
const explained = good(await client.GET("/v2/explainEstimate", { params: { query: quote } }));
const term: Shapes["ExplainedTerm"] | undefined = explained.terms.find((each) => each.name === "estimated_receive_amt");
const evidence = good(await client.GET("/v2/getRefundEvidence", { params: { query: { transfer_id: transferId } } }));
const call: Shapes["ContractCall"] | null = evidence.call;
const configs = good(await client.GET("/v2/getTransferConfigs"));
const all = good(await client.GET("/v2/getTransferConfigsForAll"));
const decimals: number | undefined = configs.chain_token["1"]?.token[0]?.token.decimal;
const hooks = await client.GET("/v2/webhooks");
const hook = await client.POST("/v2/webhooks", { body: { url: "https://example.org/", accounts: [`0x${"5a".repeat(20)}`] } });
const unhooked = await client.DELETE("/v2/webhooks", { params: { query: { id: "whk_none" } } });
const up = good(await client.GET("/healthz"));
const ready = good(await client.GET("/readyz"));
const runs = good(await client.GET("/version"));

const refused = await client.GET("/v2/estimateAmt", { params: { query: { ...quote, amt: "no amount" } } });
const code: Shapes["Err"]["code"] | undefined = refused.error?.err?.code;
const zero: string | undefined = refused.error?.estimated_receive_amt;

// What a client keeps of an operation, by its name in the document.
type Quote = operations["estimateAmt"]["responses"][200]["content"]["application/json"];
const kept: Quote = posted;

console.log(
  JSON.stringify({
    received: received.toString(),
    posted: kept.estimated_receive_amt,
    form: form.estimated_receive_amt,
    status: status.status,
    "by get": byGet.status,
    token: token.token_info?.token.decimal,
    send: [send.err?.code ?? null, sends],
    signatures: signatures.length,
    found: found.state,
    "by transaction": byTransaction.status,
    statuses: both.statuses.map((each) => [each.status, each.err?.code ?? null]),
    "in its history": history.history.some((each) => each.transfer_id === transferId),
    requested: requested.err?.code ?? requested.seq_num,
    latency: latency.median_transfer_latency_in_second > 0,
    figures: figures.p99 >= figures.p90 && figures.p90 >= figures.median && figures.median > 0,
    explained: [explained.refusal, [term?.value]],
    followed: both.statuses.map((each) => [each.terminal, each.next_actor]),
    evidence: evidence.valid,
    call: call?.function,
    decimals,
    same: configs.chains.length === all.chains.length,
    health: [up.err, ready.err, runs.err],
    webhooks: [hooks, hook, unhooked].map((each) => [each.response.status, each.error?.webhooks?.length]),
    refused: [refused.response.status, code, zero],
  }),
);
