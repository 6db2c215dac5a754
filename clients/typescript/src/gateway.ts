// The gateway's operations over HTTP. Answers are the gateway's JSON, typed as schema.ts has it.
import createClient, { type Client } from "openapi-fetch";
import { checked, read } from "./answers.js";
import { type Change, eventsOf } from "./events.js";
import type { components, operations, paths } from "./schema.js";
import { type Way, ways } from "./ways.js";

/** The shapes of the OpenAPI document, by name. */
export type Shapes = components["schemas"];
export type ConfigsAnswer = Shapes["ConfigsAnswer"];
export type ExplainedAnswer = Shapes["ExplainedAnswer"];
export type HistoryTransfer = Shapes["HistoryTransfer"];
export type LatencyStatsAnswer = Shapes["LatencyStatsAnswer"];
export type StatusesAnswer = Shapes["StatusesAnswer"];
export type WebhookBody = Lenient<Shapes["WebhookBody"], null>;
export type WebhooksAnswer = Shapes["WebhooksAnswer"];
export type EstimateAnswer = Shapes["EstimateAnswer"];
export type EvidenceAnswer = Shapes["EvidenceAnswer"];
export type FindAnswer = Shapes["FindAnswer"];
export type StatusAnswer = Shapes["StatusAnswer"];
export type WithdrawAnswer = Shapes["WithdrawAnswer"];
export type EstimateQuery = Lenient<DocumentedQuery, never>;
type DocumentedQuery = operations["estimateAmt"]["parameters"]["query"];

/** A request with what the gateway reads beyond its document: a flag as text, and `Empty` for an optional field. */
type Lenient<Documented, Empty> = {
  [Name in keyof Documented]: Documented[Name] extends boolean | undefined
    ? Documented[Name] | string | Empty
    : undefined extends Documented[Name]
      ? Documented[Name] | Empty
      : Documented[Name];
};

/** Statuses after which nothing comes, and those that wait for the user: for gateways that have no header for it. */
const TERMINAL = [2, 5, 10];
const USERS_TURN = [6, 8];
/** `withdraw_type` of a request for a refund. */
const REFUND = 1;

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

export interface GatewayOptions {
  /** For callers with limits of their own. */
  apiKey?: string;
  /** Used instead of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** What a stream of events is about, and from where it goes on. */
export type EventsQuestion = ({ transferId: string } | { account: string }) & {
  /** The `id` of the last event that was handled. */
  lastId?: string;
  /** Ends the stream, with the signal's reason as its error. */
  signal?: AbortSignal;
};

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
    return checked(await read(this.#client.GET("/v2/estimateAmt", { params: { query: query as DocumentedQuery } })));
  }

  /** Every way that the gateway offers now, pegged ones first. */
  async *ways(): AsyncGenerator<Way> {
    yield* ways(await this.configs());
  }

  /** How an estimate of the same comes about. One that is refused is no error here: see `refusal`. */
  async explainEstimate(query: EstimateQuery): Promise<ExplainedAnswer> {
    return checked(await read(this.#client.GET("/v2/explainEstimate", { params: { query: query as DocumentedQuery } })));
  }

  /** The median time of transfers of the last seven days, in seconds; an error, `no_latency_data`, without any. */
  async latency(srcChainId: number, dstChainId: number): Promise<number> {
    const query = { src_chain_id: srcChainId, dst_chain_id: dstChainId };
    const path = "/v2/getLatest7DayTransferLatencyForQuery";
    return checked(await read(this.#client.GET(path, { params: { query } }))).median_transfer_latency_in_second;
  }

  /** Median and percentiles of the same, in seconds; of one token where it is given. */
  async latencyStats(srcChainId: number, dstChainId: number, symbol?: string): Promise<LatencyStatsAnswer> {
    const token = symbol === undefined ? {} : { token_symbol: symbol };
    const query = { src_chain_id: srcChainId, dst_chain_id: dstChainId, ...token };
    return checked(await read(this.#client.GET("/v2/getTransferLatencyStats", { params: { query } })));
  }

  /** The transfers that these senders or receivers (at most 20) have, the newest first, page after page. */
  async *history(accounts: string | readonly string[], pageSize = 50): AsyncGenerator<HistoryTransfer> {
    const names = [accounts].flat();
    let token = "";
    do {
      const query = { "acct_addr[]": names, page_size: pageSize, next_page_token: token };
      const page = checked(await read(this.#client.GET("/v2/transferHistory", { params: { query } })));
      yield* page.history;
      token = page.next_page_token;
    } while (token !== "");
  }

  /**
   * Every change of a transfer, or of a sender's or receiver's transfers, for as long as you iterate. It connects again
   * where the connection breaks; what that does not change is thrown, such as `path_not_found`.
   */
  events(about: EventsQuestion): AsyncGenerator<Change, never> {
    const query = "account" in about ? { account: about.account } : { transfer_id: about.transferId };
    const url = `${this.#base}/v2/transferEvents?${new URLSearchParams(query)}`;
    return eventsOf((request) => this.#fetch(request), url, this.#headers, about.lastId, about.signal);
  }

  /** Where up to 100 transfers are, all of one moment. Each has its own `err`. */
  async statuses(transferIds: string[]): Promise<StatusesAnswer> {
    const body = { transfer_ids: transferIds };
    return checked(await read(this.#client.POST("/v2/getTransferStatuses", { body })));
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

  /**
   * The transfers behind an id, or behind the hash of a transaction. With a language, such as `es`, each has its `words`
   * for users in it.
   */
  async find(key: string, lang?: string): Promise<FindAnswer> {
    const query = lang === undefined ? { key } : { key, lang };
    return checked(await read(this.#client.GET("/v2/getTransfer", { params: { query } })));
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

  /** The webhooks of the API key, the oldest first. Like the two below it needs a key. */
  async webhooks(): Promise<WebhooksAnswer> {
    return checked(await read(this.#client.GET("/v2/webhooks", {})));
  }

  /** Have events posted to a URL. Store the `secret` of the answer: it is not shown again. */
  async createWebhook(body: WebhookBody): Promise<WebhooksAnswer> {
    return checked(await read(this.#client.POST("/v2/webhooks", { body: body as Shapes["WebhookBody"] })));
  }

  /** Have nothing more posted there; those that are left. */
  async removeWebhook(id: string): Promise<WebhooksAnswer> {
    return checked(await read(this.#client.DELETE("/v2/webhooks", { params: { query: { id } } })));
  }
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
