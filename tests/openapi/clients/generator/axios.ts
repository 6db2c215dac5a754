// Ten calls by what openapi-generator makes of the document for TypeScript with axios.
import { isAxiosError } from "axios";
import { Configuration, TransfersApi, type FoundTransfer } from "./generated/index.js";

declare const process: { argv: string[] };

const [, , basePath = "", transferId = ""] = process.argv;
const api = new TransfersApi(new Configuration({ basePath }));
const quote = { srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amt: "1000000", slippageTolerance: 3000 };
const chains = { srcChainId: 1, dstChainId: 56 };

const estimate = (await api.estimateAmt({ ...quote, isPegged: false })).data;
const estimateBody = {
  src_chain_id: 1, dst_chain_id: 56, token_symbol: "USDT", amt: "1000000", slippage_tolerance: 3000,
};
const posted = (await api.estimateAmtByPost({ estimateBody })).data;
const status = (await api.getTransferStatus({ getTransferStatusRequest: { transfer_id: transferId } })).data;
const found = (await api.getTransfer({ key: transferId })).data;
const transfer: FoundTransfer | undefined = found.transfers[0];
if (transfer === undefined) throw new Error(`no transfer, ${found.state}`);
const hash = transfer.src_block_tx_link.split("/").pop() ?? "";
const sent = { tx_hash: hash, src_chain_id: transfer.src_send_info.chain.id };
const again = (await api.getTransferStatus({ getTransferStatusRequest: sent })).data;
const statuses = (
  await api.getTransferStatuses({ statusesBody: { transfer_ids: [transferId, `0x${"ab".repeat(32)}`] } })
).data;
const history = (await api.transferHistory({ acctAddr: [transfer.sender, "nobody"], pageSize: 10 })).data;
const figures = (await api.getTransferLatencyStats(chains)).data;
const evidence = (await api.getRefundEvidence({ transferId })).data;
const configs = (await api.getTransferConfigs()).data;
const refused = await api.estimateAmt({ ...quote, amt: "no amount" }).then(
  () => 0,
  (error: unknown) => (isAxiosError(error) ? (error.response?.status ?? 0) : 0),
);

console.log(
  JSON.stringify({
    received: estimate.estimated_receive_amt,
    posted: posted.estimated_receive_amt,
    status: status.status,
    signatures: status.sorted_sigs.length,
    found: found.state,
    "by transaction": again.status,
    statuses: statuses.statuses.map((each) => [each.status, each.err?.code ?? null]),
    "in its history": history.history.some((each) => each.transfer_id === transferId),
    figures: figures.p99 >= figures.p90 && figures.p90 >= figures.median && figures.median > 0,
    evidence: evidence.valid,
    call: evidence.call?.function,
    lists: evidence.call?.arguments.map((each) => Array.isArray(each.value)),
    decimals: configs.chain_token["1"]?.token[0]?.token.decimal,
    refused,
  }),
);
