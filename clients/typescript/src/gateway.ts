// The gateway's operations over HTTP. Answers are the gateway's JSON, typed as schema.ts has it.
import createClient, { type Client } from "openapi-fetch";
import type { components, operations, paths } from "./schema.js";

/** The shapes of the OpenAPI document, by name. */
export type Shapes = components["schemas"];
export type ConfigsAnswer = Shapes["ConfigsAnswer"];
export type EstimateAnswer = Shapes["EstimateAnswer"];
export type EvidenceAnswer = Shapes["EvidenceAnswer"];
export type FindAnswer = Shapes["FindAnswer"];
export type StatusAnswer = Shapes["StatusAnswer"];
export type WithdrawAnswer = Shapes["WithdrawAnswer"];
export type EstimateQuery = operations["estimateAmt"]["parameters"]["query"];

/** Statuses after which nothing comes, and those that wait for the user: for gateways that have no header for it. */
const TERMINAL = [2, 5, 10];
const USERS_TURN = [6, 8];
/** `withdraw_type` of a request for a refund. */
const REFUND = 1;

/**
 * The gateway answered with an `err`, or with something that is no answer. `reason` is `X-Gateway-Reason`, by which
 * programs decide: code 500 has many causes. `retryAfter` is in seconds, where the gateway says it.
 */
export class GatewayError extends Error {
  constructor(
    readonly code: number,
    text: string,
    readonly reason: string,
    readonly httpStatus: number,
    readonly retryAfter: number | undefined,
  ) {
    super(`${text} (${reason || httpStatus})`);
    this.name = "GatewayError";
  }

  /** Whether the same question may be answered later. */
  get isTemporary(): boolean {
    return this.httpStatus === 429 || this.httpStatus >= 500;
  }
}

/**
 * Where a transfer is. `terminal` says whether its end is final, and `finalBy` is then `block`, or `reported` without
 * one. `nextPollSeconds` is when to ask again, and `asOf` how new the gateway's facts are (RFC 3339). These three are
 * undefined where the gateway does not say.
 */
export interface State {
  transferId: string;
  status: number;
  answer: StatusAnswer;
  terminal: boolean;
  nextActor: string;
  nextPollSeconds: number | undefined;
  asOf: string | undefined;
  finalBy: string | undefined;
}

type Called = { data?: unknown; error?: unknown; response: Response };
type Answer<T> = { data?: T; error?: unknown; response: Response };

export interface GatewayOptions {
  /** For callers with limits of their own. */
  apiKey?: string;
  /** Used instead of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** A gateway at a base address, such as `https://gateway.example`. */
export class Gateway {
  readonly #client: Client<paths>;
  readonly #base: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Record<string, string>;
  #configs: { etag: string; answer: ConfigsAnswer } | undefined;

  constructor(baseUrl: string, options: GatewayOptions = {}) {
    this.#base = baseUrl.replace(/\/+$/, "");
    this.#headers = options.apiKey === undefined ? {} : { Authorization: `Bearer ${options.apiKey}` };
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#client = createClient<paths>({ baseUrl: this.#base, headers: this.#headers, fetch: this.#fetch });
  }

  /** What can be transferred where. An answer that is still good is not loaded again. */
  async configs(): Promise<ConfigsAnswer> {
    const known = this.#configs;
    const headers = known ? { "If-None-Match": known.etag } : {};
    const called = await read(this.#client.GET("/v2/getTransferConfigs", { headers }));
    if (known && called.response.status === 304) return known.answer;
    const answer = checked(called);
    const etag = called.response.headers.get("ETag");
    if (etag !== null) this.#configs = { etag, answer };
    return answer;
  }

  /** What a transfer would bring. `amt` is in the source token's smallest unit, the tolerance in parts per million. */
  async estimate(query: EstimateQuery): Promise<EstimateAnswer> {
    return checked(await read(this.#client.GET("/v2/estimateAmt", { params: { query } })));
  }

  /** Where a transfer is. */
  async status(transferId: string, signal?: AbortSignal): Promise<State> {
    const body = { transfer_id: transferId };
    const called = await read(this.#client.POST("/v2/getTransferStatus", { body, signal: signal ?? null }));
    return state(transferId, checked(called), called.response.headers);
  }

  /** The same, answered when the status is another one, or after so many seconds (at most 30). */
  async waitStatus(transferId: string, afterStatus: number, seconds: number, signal?: AbortSignal): Promise<State> {
    const query = { transfer_id: transferId, after_status: `${afterStatus}`, timeout: `${seconds}` };
    const url = `${this.#base}/v2/waitTransferStatus?${new URLSearchParams(query)}`;
    const headers = this.#headers;
    const response = await this.#fetch(new Request(url, { headers, signal: signal ?? null }));
    const said: StatusAnswer | undefined = await response.json().catch(() => undefined);
    const answer = checked<StatusAnswer>(response.ok && said ? { data: said, response } : { error: said, response });
    return state(transferId, answer, response.headers);
  }

  /** The transfers behind an id, or behind the hash of a transaction. */
  async find(key: string): Promise<FindAnswer> {
    return checked(await read(this.#client.GET("/v2/getTransfer", { params: { query: { key } } })));
  }

  /** The evidence of a refund. `verifyEvidence` of "transfer-gateway-client/evm" checks it. */
  async evidence(transferId: string): Promise<EvidenceAnswer> {
    const query = { transfer_id: transferId };
    return checked(await read(this.#client.GET("/v2/getRefundEvidence", { params: { query } })));
  }

  /** Tell the network that the refund is wanted. Ask at status 6 only; asking again does no harm. */
  async askForRefund(transferId: string): Promise<WithdrawAnswer> {
    const request = refundRequest(transferId, Math.floor(Date.now() / 1000));
    const body = { withdraw_req: btoa(String.fromCharCode(...request)) };
    return checked(await read(this.#client.POST("/v2/withdrawLiquidity", { body })));
  }
}

/** What was answered; a `GatewayError` where it is no JSON although it says so. */
async function read<T>(called: Promise<T>): Promise<T> {
  try {
    return await called;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError(500, "no answer of a gateway: no JSON", "", 200, undefined);
  }
}

/** The answer; a `GatewayError` where there is an `err`, or no answer of a gateway. */
function checked<T extends { err: Shapes["Err"] | null }>(called: Answer<T>): T {
  const { response } = called;
  if (called.data?.err === null) return called.data;
  const err = errOf(called) ?? { code: 500, msg: `no answer of a gateway: HTTP ${response.status}` };
  const after = response.headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(after) ? Number(after) : undefined;
  throw new GatewayError(err.code, err.msg, response.headers.get("X-Gateway-Reason") ?? "", response.status, seconds);
}

function errOf(called: Called): { code: number; msg: string } | undefined {
  const found = called.data ?? called.error;
  if (typeof found !== "object" || found === null || !("err" in found)) return undefined;
  const err = found.err;
  if (typeof err !== "object" || err === null || !("code" in err) || !("msg" in err)) return undefined;
  return { code: Number(err.code), msg: String(err.msg) };
}

function state(transferId: string, answer: StatusAnswer, headers: Headers): State {
  const { status } = answer;
  const actor = TERMINAL.includes(status) ? "nobody" : USERS_TURN.includes(status) ? "user" : "network";
  const seconds = headers.get("X-Transfer-Next-Poll-Seconds") ?? "";
  return {
    transferId,
    status,
    answer,
    terminal: (headers.get("X-Transfer-Terminal") ?? `${TERMINAL.includes(status)}`).toLowerCase() === "true",
    nextActor: headers.get("X-Transfer-Next-Actor") ?? actor,
    nextPollSeconds: /^\d+$/.test(seconds) ? Number(seconds) : undefined,
    asOf: headers.get("X-Transfer-As-Of") ?? undefined,
    finalBy: headers.get("X-Transfer-Final-By") ?? undefined,
  };
}

/** The message `WithdrawReq` of proto/refund.proto: xfer_id, req_id and withdraw_type. */
function refundRequest(transferId: string, number: number): number[] {
  const name = [...new TextEncoder().encode(transferId)];
  return [0x0a, name.length, ...name, 0x20, ...varint(number), 0x28, ...varint(REFUND)];
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
