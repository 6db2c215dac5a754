// Each method, type and error as a program for 1.0 used it: positions, names of parameters, types that it wrote down.
import {
  type Change, type ConfigsAnswer, type EstimateAnswer, type EstimateQuery, type EventsQuestion, type EvidenceAnswer,
  type ExplainedAnswer, type FindAnswer, type GatewayOptions, type HistoryTransfer, type LatencyStatsAnswer,
  type Reset, type Send, type SendOptions, type Shapes, type State, type StatusAnswer, type StatusEvent,
  type StatusesAnswer, type WaitOptions, type Way, type WebhookBody, type WebhooksAnswer, type WithdrawAnswer,
  Gateway, GatewayError, NoWay, SlippageTooLow, WaitTimeout, WebhookError, findWay, sendArguments, verifyWebhook,
  waitUntil, waitUntilDone, ways,
} from "transfer-gateway-client";
import {
  type Clients, type Refund, type VerifyOptions, EvidenceError, RefundRefused, claimRefund, executeDelayed, nativeWrap,
  paysNative, transferId, verifyEvidence,
} from "transfer-gateway-client/evm";

const signal = new AbortController().signal;
const options: GatewayOptions = { apiKey: "gwk_1", fetch: (request) => fetch(request) };
const gateway = new Gateway("https://gateway.example", options);
const id: string = process.argv[2] ?? "";

async function reading(): Promise<string[]> {
  const configs: ConfigsAnswer = await gateway.configs();
  const query: EstimateQuery = {
    src_chain_id: 1, dst_chain_id: 56, token_symbol: "USDT", amt: "1", slippage_tolerance: 3000, is_pegged: "true",
    usr_addr: id,
  };
  const estimate: EstimateAnswer = await gateway.estimate(query);
  const explained: ExplainedAnswer = await gateway.explainEstimate(query);
  const stats: LatencyStatsAnswer = await gateway.latencyStats(1, 56, "USDT");
  const median: number = (await gateway.latency(1, 56)) + stats.median;
  const found: FindAnswer = await gateway.find(id, "es");
  const evidence: EvidenceAnswer = await gateway.evidence(id);
  const asked: WithdrawAnswer = await gateway.askForRefund(id);
  const listed: string[] = [id, "0x1"];
  const many: StatusesAnswer = await gateway.statuses(listed);
  const way: Way = findWay(configs, "USDT", 1, 56, false);
  const offered: Way[] = [...ways(configs)];
  for await (const each of gateway.ways()) offered.push(each);
  const call: Shapes["ContractCall"] | null = evidence.call;
  const texts = [estimate.eq_value_token_amt, explained.refusal?.reason, `${median}`, found.state, asked.seq_num];
  const hashes: (string | null | undefined)[] = [evidence.transfer_id, evidence.contract, call?.data, way.contract];
  return [...texts, ...hashes, ...many.statuses.map((each) => each.transfer_id)].flatMap((each) => each ?? []);
}

async function waiting(): Promise<number> {
  const one: State = await gateway.status(id);
  const two: State = await gateway.status(id, signal);
  const three: State = await gateway.waitStatus(id, one.status, 30, signal);
  const four: State = await gateway.waitStatus(id, two.status, 30);
  const how: WaitOptions = { timeout: 60, unknownFor: 5, signal };
  const last: State = await waitUntil(gateway, id, (state) => [5, 10].includes(state.status) && state.terminal, how);
  const answer: StatusAnswer = (await waitUntilDone(gateway, id)).answer;
  const seen: number[] = [three.status, four.status, answer.status];
  const actor: string = last.nextActor;
  if (actor === "user" || actor === "nobody") seen.push(last.status);
  return seen.filter((status) => status === 8).length;
}

async function following(accounts: readonly string[]): Promise<void> {
  const question: EventsQuestion = { account: id, lastId: "7", signal };
  for await (const change of gateway.events(question)) handled(change);
  for await (const change of gateway.events({ transferId: id })) handled(change);
  const rows: HistoryTransfer[] = [];
  for await (const row of gateway.history(accounts, 20)) rows.push(row);
  for await (const row of gateway.history(id)) rows.push(row);
}

function handled(change: Change): string {
  if (change.type === "reset") {
    const reset: Reset = change;
    return reset.id;
  }
  const event: StatusEvent = change;
  const statuses: number[] = [event.previousStatus, event.status, event.refundReason];
  return event.transferId + statuses.join(" ");
}

async function hooked(url: string, accounts: string[] | undefined): Promise<string> {
  const body: WebhookBody = { url };
  body.accounts = ["0x1"];
  const made: WebhooksAnswer = await gateway.createWebhook(body);
  await gateway.createWebhook({ url, transfer_ids: [id], name: "ledger" });
  await gateway.createWebhook({ url, accounts: null, everything: true });
  await gateway.createWebhook({ url, ...(accounts !== undefined && { accounts }) });
  const left: WebhooksAnswer = await gateway.removeWebhook(made.webhooks[0]?.id ?? "");
  return made.secret + (await gateway.webhooks()).webhooks.length + left.webhooks.length;
}

function sending(way: Way, estimate: EstimateAnswer): Send {
  const options: SendOptions = { amount: 1n, receiver: id, nonce: 7n, minimalMaxSlippage: 1, native: false };
  const own: Way = { ...way, contract: id };
  let send: Send = sendArguments(own, estimate, options);
  send = { ...send, contract: id };
  return send;
}

async function refunding(clients: Clients, send: Send): Promise<string> {
  const options: VerifyOptions = { receiver: id, contracts: [id] };
  const evidence = await gateway.evidence(id);
  const refund: Refund = await verifyEvidence(evidence, await gateway.configs(), id, options);
  const other: Refund = await verifyEvidence({ ...evidence, contract: id }, await gateway.configs(), id);
  const hash: `0x${string}` = await claimRefund(gateway, id, clients, { ...options, timeout: 60 });
  await executeDelayed(gateway, id, clients, options);
  if (await paysNative(clients.publicClient, other)) await nativeWrap(clients.publicClient, id);
  return hash + transferId(id, send) + refund.contract;
}

function wrong(error: unknown): string {
  if (error instanceof GatewayError) {
    const reason: string = error.reason;
    const code: number = error.code;
    if (error.reason === "transfer_not_found" && error.isTemporary) return `${error.retryAfter ?? 0}`;
    return `${reason} ${code} ${error.httpStatus}`;
  }
  for (const kind of [NoWay, SlippageTooLow, WaitTimeout, WebhookError, EvidenceError, RefundRefused]) {
    if (error instanceof kind) return error.name;
  }
  return new GatewayError(500, "text", id, 400, undefined).message;
}

export const used = [reading, waiting, following, hooked, sending, refunding, wrong, verifyWebhook<StatusEvent>];
