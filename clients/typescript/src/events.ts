// The stream of events: each change of a status once, in order, over breaks of the connection.
import { GatewayError, checked } from "./answers.js";
import type { Hex, RefundReason, Status } from "./shapes.js";
import { sleep } from "./sleeping.js";

/** A gateway sends something every 15 s: a connection that is silent for longer is dead. */
const SILENCE = 45;
/** Seconds until the next connection, each longer than the last; the first is what the gateway says. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 60;
const GROWTH = 1.5;

/**
 * A change of a transfer's status. `takenBack`: what the previous status rested on is no longer true, as after a
 * reorganisation. So act on the end of a transfer only when `status` of the gateway says that it is terminal.
 * `timestamp` is when the gateway learned of it (RFC 3339), `seq` a position in its log.
 */
export interface StatusEvent {
  type: "status";
  id: string;
  transferId: Hex;
  status: Status;
  previousStatus: Status;
  refundReason: RefundReason;
  takenBack: boolean;
  seq: number;
  timestamp: string;
}

/** Too much has happened since the last event: read the statuses again. What follows is not left out. */
export interface Reset {
  type: "reset";
  id: string;
}

export type Change = StatusEvent | Reset;

type Fetch = (request: Request) => Promise<Response>;

/** What the lines of one connection say; `pause` is when to connect again, where the gateway says it. */
class Reader {
  pause: number | undefined;
  #name = "";
  #data = "";

  constructor(public id: string) {}

  /** The event that ends with this line. A comment is none, and moves the id as well. */
  read(line: string): Change | undefined {
    if (line !== "") return this.#note(line);
    const [name, data] = [this.#name, this.#data];
    this.#name = this.#data = "";
    if (name === "reset") return { type: "reset", id: this.id };
    return name === "transfer.status" ? statusEvent(this.id, data) : undefined;
  }

  #note(line: string): undefined {
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === "event") this.#name = value;
    else if (name === "data") this.#data += value;
    else if (name === "id") this.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.pause = Number(value) / 1000;
  }
}

/** See `Gateway.events`. */
export async function* eventsOf(
  fetch: Fetch,
  url: string,
  headers: Record<string, string>,
  lastId: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Change, never> {
  let last = lastId ?? "";
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * GROWTH, LONGEST_PAUSE)) {
    let seconds = pause;
    const silence = new Silence(signal);
    const reader = new Reader(last);
    try {
      const sent = { ...headers, Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
      const response = await fetch(new Request(url, { headers: sent, signal: silence.signal }));
      for await (const line of linesOf(await streamOf(response), silence)) {
        const change = reader.read(line);
        if (change !== undefined) yield change;
        if (line === "") last = reader.id; // not before: the connection may break within an event
        seconds = pause = reader.pause || FIRST_PAUSE;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof GatewayError) {
        if (!error.isTemporary) throw error;
        seconds = error.retryAfter || pause; // 0 says nothing: many would connect again at once, for ever
      } else if (!(error instanceof TypeError || silence.isOver)) throw error;
    } finally {
      silence.end();
    }
    // Not all clients of a server that was stopped at the same moment.
    await sleep(seconds * (1 + Math.random() / 2), signal);
  }
}

/** Ends a connection on which nothing comes any more, or whose reader has left. */
class Silence {
  isOver = false;
  readonly #ended = new AbortController();
  readonly signal: AbortSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(other: AbortSignal | undefined) {
    this.signal = other === undefined ? this.#ended.signal : AbortSignal.any([other, this.#ended.signal]);
    this.broken();
  }

  /** Something came: wait again. */
  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(), SILENCE * 1000);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.isOver = true;
    this.#ended.abort();
  }
}

/** The body of a stream; a `GatewayError` for any other answer. */
async function streamOf(response: Response): Promise<ReadableStream<Uint8Array>> {
  const type = response.headers.get("Content-Type") ?? "";
  if (response.body !== null && type.startsWith("text/event-stream")) return response.body;
  const error: unknown = await response.json().catch(() => undefined);
  return checked<never>({ error, response });
}

async function* linesOf(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    silence.broken();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.replace(/\r$/, "");
  }
}

interface Sent {
  timestamp: string;
  data: {
    transfer_id: Hex;
    status: Status;
    previous_status: Status;
    refund_reason: RefundReason;
    taken_back?: boolean;
    seq: number;
  };
}

function statusEvent(id: string, text: string): StatusEvent {
  const { timestamp, data }: Sent = JSON.parse(text);
  return {
    type: "status", id, transferId: data.transfer_id, status: data.status, previousStatus: data.previous_status,
    refundReason: data.refund_reason, takenBack: data.taken_back ?? false, seq: data.seq, timestamp,
  };
}
