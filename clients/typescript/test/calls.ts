// How calls end where nothing answers, and what is sent.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, mock, test } from "node:test";
import { type CallOptions, Gateway } from "../src/index.js";

const BASE = "http://gateway.example";
const ID = `0x${"5".repeat(64)}` as const;
const ACCOUNT = `0x${"5a".repeat(20)}`;
const ABOUT = { srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amount: 2n ** 200n, slippageTolerance: 3000 };
/** Seconds, and milliseconds. */
const SOON = 0.05;
const DEFAULT = 20_000;

type Fetch = (request: Request) => Promise<Response>;
const never: Fetch = () => new Promise(() => undefined);
/** Ends with its request, as the fetch of a browser does. */
const silent: Fetch = async ({ signal }) => {
  signal.throwIfAborted();
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
};
const silentBody: Fetch = async () =>
  new Response(new ReadableStream({}), { headers: { "Content-Type": "application/json" } });

const CALLS: { [N in keyof Gateway]: (gateway: Gateway, options: CallOptions) => Promise<unknown> } = {
  configs: (gateway, options) => gateway.configs(options),
  estimate: (gateway, options) => gateway.estimate(ABOUT, options),
  sendTransaction: (gateway, options) => gateway.sendTransaction({ ...ABOUT, sender: ACCOUNT }, options),
  ways: (gateway, options) => gateway.ways(options).next(),
  explainEstimate: (gateway, options) => gateway.explainEstimate(ABOUT, options),
  latency: (gateway, options) => gateway.latency(1, 56, options),
  latencyStats: (gateway, options) => gateway.latencyStats(1, 56, "USDT", options),
  history: (gateway, options) => gateway.history(ACCOUNT, 50, options).next(),
  events: (gateway, { signal }) => gateway.events({ account: ACCOUNT, signal }).next(),
  statuses: (gateway, options) => gateway.statuses([ID], options),
  status: (gateway, options) => gateway.status(ID, options),
  waitStatus: (gateway, options) => gateway.waitStatus(ID, 3, 30, options),
  find: (gateway, options) => gateway.find(ID, "es", options),
  evidence: (gateway, options) => gateway.evidence(ID, options),
  askForRefund: (gateway, options) => gateway.askForRefund(ID, options),
  webhooks: (gateway, options) => gateway.webhooks(options),
  createWebhook: (gateway, options) => gateway.createWebhook({ url: BASE, accounts: [ACCOUNT] }, options),
  removeWebhook: (gateway, options) => gateway.removeWebhook(ID, options),
};
const METHODS = Object.entries(CALLS);
/** A stream goes on for ever: only its signal ends it. */
const ANSWERED = METHODS.filter(([name]) => name !== "events");
const late = (error: Error): boolean => error instanceof DOMException && error.name === "TimeoutError";

test("there is a call for each method", () => {
  const methods = Object.getOwnPropertyNames(Gateway.prototype).filter((name) => name !== "constructor");
  assert.deepEqual(methods.sort(), Object.keys(CALLS).sort());
});

describe("ends", { concurrency: true }, () => {
  for (const [name, call] of METHODS) {
    test(`${name} by its signal`, async () => {
      const reason = new Error("the user left");
      for (const fetch of name === "events" ? [silent] : [silent, never, silentBody]) {
        const control = new AbortController();
        const called = call(new Gateway(BASE, { fetch }), { signal: control.signal });
        setTimeout(() => control.abort(reason), SOON * 1000);
        await assert.rejects(called, reason);
      }
      await assert.rejects(call(new Gateway(BASE, { fetch: silent }), { signal: AbortSignal.abort(reason) }), reason);
    });
  }
  for (const [name, call] of ANSWERED) {
    test(`${name} by its time`, async () => {
      for (const fetch of [silent, never, silentBody]) {
        await assert.rejects(call(new Gateway(BASE, { fetch }), { timeout: SOON }), late);
      }
      if (name !== "waitStatus") await assert.rejects(call(new Gateway(BASE, { fetch: silent, timeout: SOON }), {}), late);
    });
  }
});

test("as 1.0 took a signal", async () => {
  const gateway = new Gateway(BASE, { fetch: silent });
  const reason = new Error("the user left");
  await assert.rejects(gateway.status(ID, AbortSignal.abort(reason)), reason);
  await assert.rejects(gateway.waitStatus(ID, 3, 30, AbortSignal.abort(reason)), reason);
});

describe("by default", () => {
  for (const [name, call] of ANSWERED) {
    test(`${name} has 20 s`, async () => {
      mock.timers.enable({ apis: ["setTimeout"] });
      try {
        let ended = false;
        const called = call(new Gateway(BASE, { fetch: never }), {}).catch((error: Error) => {
          ended = true;
          return error;
        });
        const waited = name === "waitStatus" ? 30_000 : 0;
        mock.timers.tick(waited + DEFAULT - 1);
        await Promise.resolve();
        await new Promise(setImmediate);
        assert.equal(ended, false);
        mock.timers.tick(1);
        assert.ok(late((await called) as Error));
      } finally {
        mock.timers.reset();
      }
    });
  }
});

test("nothing is left at a signal that lives on", async () => {
  const { signal } = new AbortController();
  const gateway = new Gateway(BASE, { fetch: async () => Response.json({ err: null, statuses: [] }) });
  for (let each = 0; each < 3; each++) await gateway.statuses([ID], { signal });
  await assert.rejects(new Gateway(BASE, { fetch: never }).statuses([ID], { signal, timeout: SOON }), late);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("names are sent as the gateway has them", async () => {
  const sent: Request[] = [];
  const fetch: Fetch = async (request) => {
    sent.push(request);
    return Response.json({ err: null });
  };
  const gateway = new Gateway(BASE, { fetch });
  const expected = {
    src_chain_id: "1", dst_chain_id: "56", token_symbol: "USDT", amt: `${2n ** 200n}`, slippage_tolerance: "3000",
    usr_addr: ACCOUNT, is_pegged: "false",
  };
  await gateway.estimate({ ...ABOUT, usrAddr: ACCOUNT, isPegged: false });
  await gateway.explainEstimate({ ...ABOUT, usrAddr: ACCOUNT, isPegged: false });
  await gateway.estimate({ ...expected, src_chain_id: 1, dst_chain_id: 56, slippage_tolerance: 3000 });
  for (const { url } of sent) assert.deepEqual(Object.fromEntries(new URL(url).searchParams), expected);
  await gateway.estimate({ ...ABOUT, usrAddr: undefined, isPegged: undefined });
  assert.deepEqual([...new URL(sent.at(-1)?.url ?? "").searchParams.keys()], [
    "src_chain_id", "dst_chain_id", "token_symbol", "slippage_tolerance", "amt",
  ]);
  for (const body of [{ transferIds: [ID] }, { transfer_ids: [ID] }]) {
    await gateway.createWebhook({ url: BASE, ...body });
    assert.deepEqual(await sent.at(-1)?.json(), { url: BASE, transfer_ids: [ID] });
  }
});
