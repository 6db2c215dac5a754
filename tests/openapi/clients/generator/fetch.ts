// Ten calls by what openapi-generator makes of the document for TypeScript with fetch.
import { Configuration, ResponseError, TransfersApi, type FoundTransfer } from "./generated/index.js";

declare const process: { argv: string[] };

const [, , basePath = "", transferId = ""] = process.argv;
const api = new TransfersApi(new Configuration({ basePath }));
const quote = { srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amt: "1000000", slippageTolerance: 3000 };
const chains = { srcChainId: 1, dstChainId: 56 };

const estimate = await api.estimateAmt({ ...quote, isPegged: false });
const posted = await api.estimateAmtByPost({ estimateBody: quote });
const status = await api.getTransferStatus({ getTransferStatusRequest: { transferId } });
const found = await api.getTransfer({ key: transferId });
const transfer: FoundTransfer | undefined = found.transfers[0];
if (transfer === undefined) throw new Error(`no transfer, ${found.state}`);
const txHash = transfer.srcBlockTxLink.split("/").pop() ?? "";
const sent = { txHash, srcChainId: transfer.srcSendInfo.chain.id };
const again = await api.getTransferStatus({ getTransferStatusRequest: sent });
const statuses = await api.getTransferStatuses({
  statusesBody: { transferIds: [transferId, `0x${"ab".repeat(32)}`] },
});
const history = await api.transferHistory({ acctAddr: [transfer.sender, "nobody"], pageSize: 10 });
const figures = await api.getTransferLatencyStats(chains);
const evidence = await api.getRefundEvidence({ transferId });
const configs = await api.getTransferConfigs();
const refused = await api.estimateAmt({ ...quote, amt: "no amount" }).then(
  () => 0,
  (error: unknown) => (error instanceof ResponseError ? error.response.status : 0),
);

console.log(
  JSON.stringify({
    received: estimate.estimatedReceiveAmt,
    posted: posted.estimatedReceiveAmt,
    status: status.status,
    signatures: status.sortedSigs.length,
    found: found.state,
    "by transaction": again.status,
    statuses: statuses.statuses.map((each) => [each.status, each.err?.code ?? null]),
    "in its history": history.history.some((each) => each.transferId === transferId),
    figures: figures.p99 >= figures.p90 && figures.p90 >= figures.median && figures.median > 0,
    evidence: evidence.valid,
    call: evidence.call?._function,
    lists: evidence.call?.arguments.map((each) => Array.isArray(each.value)),
    decimals: configs.chainToken["1"]?.token[0]?.token.decimal,
    refused,
  }),
);
