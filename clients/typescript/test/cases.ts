// Runs cases that both client libraries must answer alike: JSON from the file CASES, results compared with `expect`.
// A case names what is to be done and with what; the result is a value, or the class and the text of an error.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Address, createPublicClient, createWalletClient, custom, numberToHex } from "viem";
import { mainnet } from "viem/chains";
import { claimRefund, executeDelayed, getQuote, transferId, verifyEvidence } from "../src/evm.js";
import {
  type ConfigsAnswer, type EstimateAnswer, type EvidenceAnswer, type Send, type SendAnswer, type State, Gateway, GatewayError, findWay,
  sendArguments, verifyWebhook, waitUntil, waitUntilDone, ways,
} from "../src/index.js";

interface Case {
  name: string;
  do: keyof typeof DOES;
  configs: string;
  way: [string, number, number];
  is_pegged?: boolean;
  estimate: EstimateAnswer;
  amount: string;
  receiver: string;
  nonce: number;
  minimal_max_slippage?: number;
  sender: string;
  body: string;
  headers: Record<string, string>;
  secrets: string | string[];
  now: number;
  base: string;
  transfer: string;
  timeout?: number;
  unknown_for?: number;
  terminal?: boolean;
  fails?: string;
  native?: boolean;
  transfer_id?: string;
  account?: string;
  last_id?: string;
  many: number;
  ids?: boolean;
  key: string;
  url: string;
  evidence: EvidenceAnswer;
  /** Of getSendTransaction. */
  answer: SendAnswer;
  contracts?: string[];
  node: number;
  wallet: number;
  /** Whether the wallet client names its chain. */
  named: boolean;
  expect: { value?: unknown; error?: string; says?: string };
}

const { documents, cases } = JSON.parse(readFileSync(process.env["CASES"] ?? "", "utf8")) as {
  documents: Record<string, ConfigsAnswer>;
  cases: Case[];
};

const DOES = {
  ways: async ({ configs }: Case) =>
    [...ways(configsOf(configs))].map((way) => [
      way.kind, way.symbol, way.srcChainId, way.dstChainId, way.contract, way.token, way.decimal, way.version,
      way.toChain,
    ]),
  send: async (given: Case) => {
    const made = madeSend(given);
    const { chainId, contract, token, signature, function: name, minimumReceived, value } = made;
    return [chainId, contract, token, signature, name, made.arguments.map(String), `${minimumReceived}`, `${value}`];
  },
  webhook: async ({ body, headers, secrets, now }: Case) => verifyWebhook(body, headers, secrets, now),
  wait: async ({ base, transfer, timeout, unknown_for: unknownFor, terminal, fails }: Case) => {
    const options = { ...(timeout !== undefined && { timeout }), ...(unknownFor !== undefined && { unknownFor }) };
    const gateway = new Gateway(base);
    const failing = (): never => {
      throw new TypeError(fails);
    };
    if (fails !== undefined) return waitUntil(gateway, transfer, failing, options);
    if (terminal) return stateOf(await waitUntil(gateway, transfer, (state) => state.terminal, options));
    return stateOf(await waitUntilDone(gateway, transfer, options));
  },
  // The statuses that somebody sees who waits until it is over.
  follow: async ({ base, transfer, timeout = 0 }: Case) => {
    const seen = new Set<number>();
    const over = (state: State) => seen.add(state.status) && state.terminal;
    await waitUntil(new Gateway(base), transfer, over, { timeout });
    return [...seen];
  },
  // The first changes that somebody hears of who follows a transfer or an account.
  events: async ({ base, transfer_id: transferId, account = "", last_id: lastId, many, ids }: Case) => {
    const about = transferId === undefined ? { account } : { transferId };
    const heard: unknown[] = [];
    for await (const change of new Gateway(base).events({ ...about, ...(lastId !== undefined && { lastId }) })) {
      if (change.type === "reset") heard.push(["reset", change.id]);
      else {
        const { transferId: id, previousStatus, status, refundReason, takenBack } = change;
        heard.push([id, previousStatus, status, refundReason, takenBack, ...(ids ? [change.id] : [])]);
      }
      if (heard.length === many) break;
    }
    return heard;
  },
  // What an API key is for: webhooks are made, listed and removed.
  keyed: async ({ base, key, url, transfer }: Case) => {
    const gateway = new Gateway(base, { apiKey: key });
    const made = await gateway.createWebhook({ url, transfer_ids: [transfer] });
    const listed = (await gateway.webhooks()).webhooks;
    const left = (await gateway.removeWebhook(listed.at(-1)?.id ?? "")).webhooks;
    return [made.secret.slice(0, 6), listed.map((each) => each.url), left];
  },
  session,
  evidence: async ({ evidence, configs, transfer, receiver, contracts }: Case) => {
    const options = { ...(receiver !== undefined && { receiver }), ...(contracts !== undefined && { contracts }) };
    const made = await verifyEvidence(evidence, configsOf(configs), transfer, options);
    const [request, sigs, signers, powers] = made.arguments;
    return [
      made.kind, made.chainId, made.contract, made.function, made.receiver, made.token, `${made.amount}`, request, sigs,
      signers, powers.map(String),
    ];
  },
  transfer_id: async (given: Case) => transferId(given.sender, madeSend(given)),
  refund,
  // What somebody is shown who requests a transaction, and whether the answer is what was requested.
  quote: async (given: Case) => {
    const { configs, answer, way: [tokenSymbol, srcChainId, dstChainId], amount, sender, receiver, contracts } = given;
    const answered = async ({ url }: Request) =>
      Response.json(url.includes("getTransferConfigs") ? configsOf(configs) : answer);
    const request = {
      tokenSymbol, srcChainId, dstChainId, amount: BigInt(amount), sender, slippageTolerance: 5000,
      nonce: BigInt(given.nonce), isPegged: given.is_pegged, native: given.native,
      ...(receiver !== undefined && { receiver }),
    };
    const made = await getQuote(new Gateway("http://gateway.example", { fetch: answered }), request, { contracts });
    return [made.transferId, `${made.nonce}`, `${made.minimumReceived}`, made.validUntil.toISOString()];
  },
};

function configsOf(name: string): ConfigsAnswer {
  const found = documents[name];
  assert(found);
  return found;
}

function madeSend(given: Case): Send {
  const [symbol, src, dst] = given.way;
  const way = findWay(configsOf(given.configs), symbol, src, dst, given.is_pegged);
  const { receiver, minimal_max_slippage: minimalMaxSlippage = 0, native = false } = given;
  const options = { amount: BigInt(given.amount), receiver, nonce: BigInt(given.nonce), minimalMaxSlippage, native };
  return sendArguments(way, given.estimate, options);
}

function stateOf(state: State): unknown[] {
  return [state.status, state.terminal, state.nextActor, state.nextPollSeconds ?? null, state.asOf ?? null];
}

/** Every operation, of a gateway that serves. */
async function session({ base, transfer, account = "" }: Case): Promise<unknown> {
  const gateway = new Gateway(`${base}/`);
  const configs = await gateway.configs();
  const way = findWay(configs, "USDT", 1, 56);
  const asked = {
    src_chain_id: 1, dst_chain_id: 56, token_symbol: "USDT", amt: "1000000", slippage_tolerance: 3000, usr_addr: "0x00",
    is_pegged: way.isPegged,
  };
  const estimate = await gateway.estimate(asked);
  const [offered, history]: [unknown[], number[]] = [[], []];
  for await (const each of gateway.ways()) offered.push(each);
  for await (const each of gateway.history([account], 1)) history.push(each.status);
  const refused = await gateway.find("no key").catch((error: unknown) => error);
  assert(refused instanceof GatewayError);
  const [state, found] = [await gateway.status(transfer), await gateway.find(transfer, "es")];
  return {
    same: (await gateway.configs()) === configs,
    received: estimate.estimated_receive_amt,
    state: [...stateOf(state).slice(0, 4), state.asOf !== undefined],
    evidence: (await gateway.evidence(transfer)).valid,
    found: [found.state, found.transfers[0]?.certainty.level],
    words: found.transfers[0]?.words?.headline,
    asked: (await gateway.askForRefund(transfer)).err,
    refused: [refused.code, refused.reason, refused.httpStatus, refused.isTemporary],
    ways: offered.length === [...ways(configs)].length && offered.length > 9,
    explained: (await gateway.explainEstimate(asked)).refusal,
    latency: [await gateway.latency(1, 56), (await gateway.latencyStats(1, 56, "USDT")).median],
    history,
    statuses: (await gateway.statuses([transfer])).statuses.map((each) => each.status),
  };
}

/** How a refund ends where node and wallet are of these chains, and what the wallet was told to send. */
async function refund({ evidence, configs, transfer, receiver, node, wallet, named }: Case): Promise<unknown> {
  const answers = [configsOf(configs), evidence, { err: null, status: 8 }];
  const paths = ["getTransferConfigs", "getRefundEvidence", "getTransferStatus"];
  const answered = async ({ url }: Request) => Response.json(answers[paths.findIndex((each) => url.includes(each))]);
  const gateway = new Gateway("http://gateway.example", { fetch: answered });
  const sent: string[] = [];
  const transport = (chain: number) => custom({
    request: async ({ method }: { method: string }) => {
      if (method === "eth_chainId") return numberToHex(chain);
      if (method !== "eth_call") sent.push(method);
      return "0x";
    },
  });
  const chain = named ? { chain: { ...mainnet, id: wallet } } : {};
  const walletClient = createWalletClient({ account: receiver as Address, transport: transport(wallet), ...chain });
  const clients = { publicClient: createPublicClient({ transport: transport(node) }), walletClient };
  const sending = (evidence.delayed === null ? claimRefund : executeDelayed)(gateway, transfer, clients);
  return [await sending.then(() => "sent", (error: Error) => error.message), sent];
}

describe("cases", { concurrency: true }, () => {
  for (const each of cases) {
    test(each.name, async () => {
      const { value, error, says = "" } = each.expect;
      if (error === undefined) {
        assert.deepEqual(await DOES[each.do](each), value);
        return;
      }
      await assert.rejects(DOES[each.do](each), (thrown: Error) => {
        assert.equal(thrown.constructor.name, error);
        assert.ok(thrown.message.includes(says), thrown.message);
        return true;
      });
    });
  }
});
