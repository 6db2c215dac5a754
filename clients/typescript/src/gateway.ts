// The gateway's operations over HTTP. Answers are the gateway's JSON, typed as schema.ts has it.
import createClient, { type Client } from "openapi-fetch";
import { checked, read } from "./answers.js";
import { ANSWERED_WITHIN, type CallOptions, within } from "./calls.js";
import { type Change, eventsOf } from "./events.js";
import type { operations, paths } from "./schema.js";
import type { Actor, Answered, Shapes, Status } from "./shapes.js";
import { type Way, ways } from "./ways.js";

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
export type SendAnswer = Shapes["SendAnswer"];
export type StatusAnswer = Shapes["StatusAnswer"];
export type WithdrawAnswer = Shapes["WithdrawAnswer"];
/** The parameters of an estimate as they are sent. `EstimateRequest` has the names of this library. */
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

/** What an estimate is about. */
export interface EstimateRequest {
  srcChainId: number;
  dstChainId: number;
  tokenSymbol: string;
  /** In the source token's smallest unit. */
  amount: bigint;
  /** In parts per million: 3000 is 0.3 %. */
  slippageTolerance: number;
  /** The account that will send. */
  usrAddr?: string | undefined;
  /** Whether the pegged way is meant where there are two: `isPegged` of a `Way`. */
  isPegged?: boolean | undefined;
}

/** A transfer that a wallet of an EVM chain is to send. */
export interface SendRequest extends Omit<EstimateRequest, "usrAddr"> {
  /** Who signs and sends, and gets a refund. */
  sender: string;
  /** Who is paid; the sender where it is left out. Name it for a contract wallet, and for an exchange. */
  receiver?: string | undefined;
  /** The same nonce gives the same transfer, which the contract takes once. Below 2^64. */
  nonce?: bigint | undefined;
  /** Send the chain's own coin, where the token is what the contract wraps it as. */
  native?: boolean | undefined;
}

/** A webhook to be made: what it is about is `accounts`, `transferIds` or `everything`. */
export interface WebhookRequest {
  /** Where events are posted: https. */
  url: string;
  name?: string | undefined;
  accounts?: readonly string[] | undefined;
  transferIds?: readonly string[] | undefined;
  /** Every transfer; for keys of the scope `webhooks:all`. */
  everything?: boolean | undefined;
}

/** A gateway refuses a webhook that is about nothing. */
type AboutSomething = { accounts: readonly string[] } | { transferIds: readonly string[] } | { everything: true };
type Subject = "accounts" | "transferIds" | "transfer_ids" | "everything";
type WebhookName = keyof WebhookRequest | keyof WebhookBody;
/** What `createWebhook` takes: no webhook about nothing, and no field that it does not know. */
type Webhook<T> = T &
  (keyof T & Subject extends never ? AboutSomething : unknown) & { [N in Exclude<keyof T, WebhookName>]: never };
/** A list that is not written as an empty one. */
type Filled<T> = T & (T extends readonly [] ? readonly [string, ...string[]] : unknown);

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
  status: Status;
  answer: StatusAnswer;
  terminal: boolean;
  nextActor: Actor;
  nextPollSeconds: number | undefined;
  asOf: string | undefined;
  finalBy: string | undefined;
}

export interface GatewayOptions {
  /** For callers with limits of their own. */
  apiKey?: string;
  /** Used instead of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
  /** Seconds in which an answer must be there; 20. */
  timeout?: number;
}

/** What a stream of events is about, and from where it goes on. */
export type EventsQuestion = ({ transferId: string } | { account: string }) & {
  /** The `id` of the last event that was handled. */
  lastId?: string;
  /** Ends the stream, with the signal's reason as its error. */
  signal?: AbortSignal | undefined;
};

/** A gateway at a base address, such as `https://gateway.example`. */
export class Gateway {
  readonly #client: Client<paths>;
  readonly #base: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  #configs: { etag: string; answer: ConfigsAnswer } | undefined;

  constructor(baseUrl: string, options: GatewayOptions = {}) {
    this.#base = baseUrl.replace(/\/+$/, "");
    this.#headers = options.apiKey === undefined ? {} : { Authorization: `Bearer ${options.apiKey}` };
    this.#timeout = options.timeout ?? ANSWERED_WITHIN;
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#client = createClient<paths>({ baseUrl: this.#base, headers: this.#headers, fetch: this.#fetch });
  }

  /** What can be transferred where. An answer that is still good is not loaded again. */
  async configs(options: CallOptions = {}): Promise<ConfigsAnswer> {
    const known = this.#configs;
    const headers = known ? { "If-None-Match": known.etag } : {};
    const called = await this.#within(options, (signal) =>
      this.#client.GET("/v2/getTransferConfigs", { headers, signal }),
    );
    if (known && called.response.status === 304) return known.answer;
    const answer = checked(called);
    const etag = called.response.headers.get("ETag");
    if (etag !== null) this.#configs = { etag, answer };
    return answer;
  }

  /** What a transfer would bring. */
  async estimate(request: EstimateRequest | EstimateQuery, options: CallOptions = {}): Promise<EstimateAnswer> {
    const params = { query: estimateQuery(request) };
    return this.#answer(options, (signal) => this.#client.GET("/v2/estimateAmt", { params, signal }));
  }

  /**
   * The transaction that sends a transfer, and the estimate that it rests on. Check it before it is signed, as `getQuote` of
   * "transfer-gateway-client/evm" does.
   */
  async sendTransaction(request: SendRequest, options: CallOptions = {}): Promise<SendAnswer> {
    const params = { query: sendQuery(request) };
    return this.#answer(options, (signal) => this.#client.GET("/v2/getSendTransaction", { params, signal }));
  }

  /** Every way that the gateway offers now, pegged ones first. */
  async *ways(options: CallOptions = {}): AsyncGenerator<Way> {
    yield* ways(await this.configs(options));
  }

  /** How an estimate of the same comes about. One that is refused is no error here: see `refusal`. */
  async explainEstimate(request: EstimateRequest | EstimateQuery, options: CallOptions = {}): Promise<ExplainedAnswer> {
    const params = { query: estimateQuery(request) };
    return this.#answer(options, (signal) => this.#client.GET("/v2/explainEstimate", { params, signal }));
  }

  /** The median time of transfers of the last seven days, in seconds; an error, `no_latency_data`, without any. */
  async latency(srcChainId: number, dstChainId: number, options: CallOptions = {}): Promise<number> {
    const params = { query: { src_chain_id: srcChainId, dst_chain_id: dstChainId } };
    const path = "/v2/getLatest7DayTransferLatencyForQuery";
    const answer = await this.#answer(options, (signal) => this.#client.GET(path, { params, signal }));
    return answer.median_transfer_latency_in_second;
  }

  /** Median and percentiles of the same, in seconds; of one token where it is given. */
  async latencyStats(
    srcChainId: number,
    dstChainId: number,
    symbol?: string,
    options: CallOptions = {},
  ): Promise<LatencyStatsAnswer> {
    const token = symbol === undefined ? {} : { token_symbol: symbol };
    const params = { query: { src_chain_id: srcChainId, dst_chain_id: dstChainId, ...token } };
    return this.#answer(options, (signal) => this.#client.GET("/v2/getTransferLatencyStats", { params, signal }));
  }

  /** The transfers that these senders or receivers (at most 20) have, the newest first, page after page. */
  async *history<T extends string | readonly string[] | []>(
    accounts: Filled<T>,
    pageSize = 50,
    options: CallOptions = {},
  ): AsyncGenerator<HistoryTransfer> {
    const names = [accounts as string | readonly string[]].flat();
    let token = "";
    do {
      const params = { query: { "acct_addr[]": names, page_size: pageSize, next_page_token: token } };
      const page = await this.#answer(options, (signal) =>
        this.#client.GET("/v2/transferHistory", { params, signal }),
      );
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
  async statuses<T extends readonly string[] | []>(
    transferIds: Filled<T>,
    options: CallOptions = {},
  ): Promise<StatusesAnswer> {
    const body = { transfer_ids: [...transferIds] };
    return this.#answer(options, (signal) => this.#client.POST("/v2/getTransferStatuses", { body, signal }));
  }

  /** Where a transfer is. */
  async status(transferId: string, options: CallOptions | AbortSignal = {}): Promise<State> {
    const body = { transfer_id: transferId };
    const called = await this.#within(options, (signal) =>
      this.#client.POST("/v2/getTransferStatus", { body, signal }),
    );
    return state(transferId, checked(called), called.response.headers);
  }

  /** The same, answered when the status is another one, or after so many seconds (at most 30). */
  async waitStatus(
    transferId: string,
    afterStatus: number,
    seconds: number,
    options: CallOptions | AbortSignal = {},
  ): Promise<State> {
    const params = { query: { transfer_id: transferId, after_status: afterStatus, timeout: seconds } };
    const waiting = { timeout: seconds + this.#timeout, ...given(options) };
    const called = await this.#within(waiting, (signal) =>
      this.#client.GET("/v2/waitTransferStatus", { params, signal }),
    );
    return state(transferId, checked(called), called.response.headers);
  }

  /**
   * The transfers behind an id, or behind the hash of a transaction. With a language, such as `es`, each has its `words`
   * for users in it.
   */
  async find(key: string, lang?: string, options: CallOptions = {}): Promise<FindAnswer> {
    const params = { query: lang === undefined ? { key } : { key, lang } };
    return this.#answer(options, (signal) => this.#client.GET("/v2/getTransfer", { params, signal }));
  }

  /** The evidence of a refund. `verifyEvidence` of "transfer-gateway-client/evm" checks it. */
  async evidence(transferId: string, options: CallOptions = {}): Promise<EvidenceAnswer> {
    const params = { query: { transfer_id: transferId } };
    return this.#answer(options, (signal) => this.#client.GET("/v2/getRefundEvidence", { params, signal }));
  }

  /** Request the refund of a transfer at status 6. Another request does no harm. */
  async askForRefund(transferId: string, options: CallOptions = {}): Promise<WithdrawAnswer> {
    const request = refundRequest(transferId, Math.floor(Date.now() / 1000));
    const body = { withdraw_req: btoa(String.fromCharCode(...request)) };
    return this.#answer(options, (signal) => this.#client.POST("/v2/withdrawLiquidity", { body, signal }));
  }

  /** The webhooks of the API key, the oldest first. Like the two below it needs a key. */
  async webhooks(options: CallOptions = {}): Promise<WebhooksAnswer> {
    return this.#answer(options, (signal) => this.#client.GET("/v2/webhooks", { signal }));
  }

  /** Have events posted to a URL. Store the `secret` of the answer: it is not shown again. */
  async createWebhook<T extends WebhookRequest | WebhookBody>(
    webhook: Webhook<T>,
    options: CallOptions = {},
  ): Promise<WebhooksAnswer> {
    const body = sent(webhook) as Shapes["WebhookBody"];
    return this.#answer(options, (signal) => this.#client.POST("/v2/webhooks", { body, signal }));
  }

  /** Have nothing more posted there; those that are left. */
  async removeWebhook(id: string, options: CallOptions = {}): Promise<WebhooksAnswer> {
    const params = { query: { id } };
    return this.#answer(options, (signal) => this.#client.DELETE("/v2/webhooks", { params, signal }));
  }

  async #within<T>(options: CallOptions | AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, timeout = this.#timeout } = given(options);
    return within({ signal, timeout }, (ends) => read(call(ends)));
  }

  async #answer<T extends { err: object | null }>(
    options: CallOptions,
    call: (signal: AbortSignal) => Promise<{ data?: T; error?: unknown; response: Response }>,
  ): Promise<Answered<T>> {
    return checked(await this.#within(options, call)) as Answered<T>;
  }
}

/** In 1.0 a signal stood in the place of the options of two methods. */
function given(options: CallOptions | AbortSignal): CallOptions {
  return options instanceof AbortSignal ? { signal: options } : options;
}

/** Parameters as they are sent: srcChainId is src_chain_id. Those that have these names already stay as they are. */
function sent(parameters: object): Record<string, unknown> {
  const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [snake(name), value]));
}

type SendQuery = operations["getSendTransaction"]["parameters"]["query"];

function sendQuery({ amount, nonce, ...others }: SendRequest): SendQuery {
  const numbered = nonce === undefined ? {} : { nonce: `${nonce}` };
  return { ...sent(others), ...numbered, amt: `${amount}` } as SendQuery;
}

function estimateQuery(request: EstimateRequest | EstimateQuery): DocumentedQuery {
  if (!("amount" in request)) return request as DocumentedQuery;
  const { amount, ...others } = request;
  return { ...sent(others), amt: `${amount}` } as DocumentedQuery;
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
