// What the types promise: viem takes what is answered, and what a gateway always refuses does not compile.
import {
  type CallOptions, type Hex, type Reason, type Status, Gateway, GatewayError, findWay, sendArguments,
} from "transfer-gateway-client";
import { type Address, type PublicClient, type WalletClient, parseAbi } from "viem";

const gateway = new Gateway("https://gateway.example", { timeout: 5 });
const options: CallOptions = { signal: new AbortController().signal, timeout: 1 };
const [url, id] = ["https://example.org/hooks", "a text"];
const about = {
  srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amount: 25_000_000n, slippageTolerance: 3000, isPegged: false,
};

export async function viemTakes(node: PublicClient, wallet: WalletClient, account: Address): Promise<void> {
  const evidence = await gateway.evidence(id);
  if (evidence.call?.data && evidence.contract !== null) {
    await wallet.sendTransaction({ account, chain: null, to: evidence.contract, data: evidence.call.data });
  }
  if (evidence.delayed?.tx_hash) await node.getTransactionReceipt({ hash: evidence.delayed.tx_hash });
  const ids: Hex[] = [];
  for await (const row of gateway.history(account)) ids.push(row.transfer_id);
  for (const row of (await gateway.statuses(ids)).statuses) ids.push(row.transfer_id);
  for (const row of (await gateway.find(id)).transfers) ids.push(row.transfer_id);
  for await (const change of gateway.events({ account })) if (change.type === "status") ids.push(change.transferId);
  const signatures: (Hex | null)[] = evidence.signers.map((each) => each.signature);
  const signature: string | undefined = evidence.call?.signature;
  const way = findWay(await gateway.configs(), "USDT", 1, 56);
  const send = sendArguments(way, await gateway.estimate(about), { amount: about.amount, receiver: account });
  const abi = parseAbi(["function send(address, address, uint256, uint64, uint64, uint32)"]);
  const args = [account, send.token, send.amount, 56n, send.nonce, send.maxSlippage] as const;
  await wallet.writeContract({ account, chain: null, address: send.contract, abi, functionName: "send", args });
  console.log(signatures, signature);
}

export async function isUnion(error: GatewayError): Promise<string> {
  const { status } = await gateway.status(id);
  const named: Record<Status, string> = {
    0: "?", 1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f", 7: "g", 8: "h", 9: "i", 10: "j", 11: "k",
  };
  // @ts-expect-error: there is no such status
  if (status === 12) return "";
  const known: Reason = "no_route";
  const newer: Reason = "a_reason_of_a_newer_gateway";
  return named[status] + (error.reason === known || error.reason === newer);
}

export async function everyMethodEnds(): Promise<void> {
  await gateway.configs(options);
  await gateway.estimate(about, options);
  await gateway.explainEstimate(about, options);
  await gateway.latency(1, 56, options);
  await gateway.latencyStats(1, 56, undefined, options);
  await gateway.statuses([id], options);
  await gateway.status(id, options);
  await gateway.waitStatus(id, 3, 30, options);
  await gateway.find(id, undefined, options);
  await gateway.evidence(id, options);
  await gateway.askForRefund(id, options);
  await gateway.webhooks(options);
  await gateway.createWebhook({ url, transferIds: [id] }, options);
  await gateway.removeWebhook(id, options);
  gateway.ways(options);
  gateway.history([id], 50, options);
  gateway.events({ account: id, signal: options.signal });
}

export async function isRefused(): Promise<void> {
  // @ts-expect-error: a webhook is about something
  await gateway.createWebhook({ url });
  // @ts-expect-error: a name is nothing that it is about
  await gateway.createWebhook({ url, name: "ledger" });
  // @ts-expect-error: no field of a webhook
  await gateway.createWebhook({ url, accounts: [id], names: "ledger" });
  // @ts-expect-error: where is it posted?
  await gateway.createWebhook({ accounts: [id] });
  // @ts-expect-error: of which transfers?
  await gateway.statuses([]);
  // @ts-expect-error: of which accounts?
  gateway.history([]);
  // @ts-expect-error: of which transfer or account?
  gateway.events({});
  // @ts-expect-error: a pool send has no tolerance that everybody wants
  await gateway.estimate({ srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amount: 1n });
  // @ts-expect-error: an amount is exact
  await gateway.estimate({ ...about, amount: 1.5 });
}
