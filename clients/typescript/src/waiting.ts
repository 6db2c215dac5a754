// Waiting for a transfer: by the gateway's wait where it has one, else by asking again when it says.
import { GatewayError } from "./answers.js";
import { ANSWERED_WITHIN, type CallOptions } from "./calls.js";
import type { Gateway, State } from "./gateway.js";
import { sleep } from "./sleeping.js";

const LONGEST_WAIT = 30;
/** Seconds between two questions where the gateway does not say: each pause is longer than the one before. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 60;
const GROWTH = 1.5;
/** What a gateway answers where too many wait: of all, or of the caller's network. */
const BUSY = [429, 503];
/**
 * What it answers there, or where it has no wait: its status is asked for instead. So it is where somebody else answers,
 * such as a proxy.
 */
const NO_WAIT = [404, 405, ...BUSY];

export interface WaitOptions {
  /** Seconds to wait at most; an hour where it is left out. */
  timeout?: number;
  /** Seconds in which the gateway may still not know the transfer, for it was just sent; 600. */
  unknownFor?: number;
  signal?: AbortSignal | undefined;
}

/** It is not over by the time that was given. */
export class WaitTimeout extends Error {
  override name = "WaitTimeout";
}

/** Wait until the transfer's end is final, or until the user has to request a refund (6) or claim it (8). */
export function waitUntilDone(gateway: Gateway, transferId: string, options: WaitOptions = {}): Promise<State> {
  return waitUntil(gateway, transferId, (state) => state.terminal || state.nextActor === "user", options);
}

/** Wait until `arrived` says so of a state. Errors that waiting does not change are thrown, and its own at once. */
export async function waitUntil(
  gateway: Gateway,
  transferId: string,
  arrived: (state: State) => boolean,
  options: WaitOptions = {},
): Promise<State> {
  const wait = new Wait(gateway, transferId, options);
  while (wait.left > 0) {
    let state: State | undefined;
    let seconds = 0;
    try {
      state = await wait.ask();
    } catch (error) {
      options.signal?.throwIfAborted();
      seconds = wait.afterError(error);
    }
    // Not above: what the caller throws says nothing about the network.
    if (state !== undefined) {
      if (arrived(state)) return state;
      seconds = wait.after(state);
    }
    await sleep(Math.max(0, Math.min(seconds, wait.left)), options.signal);
  }
  const { seen, timeout } = wait;
  throw new WaitTimeout(`${transferId} is at status ${seen?.status ?? "unknown"} after ${timeout} s`);
}

/** How to ask next, and when, in seconds: 0 is at once. */
class Wait {
  readonly timeout: number;
  seen: State | undefined;
  readonly #began = now();
  readonly #unknownFor: number;
  readonly #signal: AbortSignal | undefined;
  #asked = 0;
  #pause = FIRST_PAUSE;
  #waits = true; // whether the gateway has a wait
  #busy = false; // whether too many wait just now
  #waiting = false; // whether the last question was a wait

  constructor(
    readonly gateway: Gateway,
    readonly transferId: string,
    { timeout = 3600, unknownFor = 600, signal }: WaitOptions,
  ) {
    this.timeout = timeout;
    this.#unknownFor = unknownFor;
    this.#signal = signal;
  }

  get left(): number {
    return this.#began + this.timeout - now();
  }

  /** By the gateway's wait where it has one; the first time, and while too many wait, by the status. */
  ask(): Promise<State> {
    this.#asked = now();
    this.#waiting = this.seen !== undefined && this.#waits && !this.#busy;
    if (this.seen === undefined || !this.#waiting) return this.gateway.status(this.transferId, this.#within(0));
    const seconds = Math.max(1, Math.min(LONGEST_WAIT, Math.floor(this.left)));
    return this.gateway.waitStatus(this.transferId, this.seen.status, seconds, this.#within(seconds));
  }

  /** Ends a question that waits for so many seconds when it is late, or when the time is over. */
  #within(seconds: number): CallOptions {
    return { signal: this.#signal, timeout: Math.max(1, Math.min(seconds + ANSWERED_WITHIN, this.left + 1)) };
  }

  /** The time until the next question where the transfer is not there yet. */
  after(state: State): number {
    const moved = state.status !== this.seen?.status;
    if (moved) this.#pause = FIRST_PAUSE;
    this.seen = state;
    // A wait that is answered at once with the same has not waited.
    const waited = moved || !this.#waiting || now() - this.#asked >= 1;
    this.#busy = false;
    return this.#waits && waited ? 0 : this.#later(said(state));
  }

  /** The time until the next question; what waiting does not change is thrown. */
  afterError(error: unknown): number {
    // fetch tells of a network that fails by a TypeError, and of an answer that is late by a DOMException.
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    if (error instanceof TypeError || isLate) return this.#later(undefined);
    if (!(error instanceof GatewayError)) throw error;
    if (this.#waiting && (NO_WAIT.includes(error.httpStatus) || error.reason === "")) {
      this.#waits = BUSY.includes(error.httpStatus);
      this.#busy = true;
      return this.#later(error.retryAfter ?? said(this.seen));
    }
    const unknown = error.reason === "transfer_not_found" && now() - this.#began < this.#unknownFor;
    if (!(error.isTemporary || unknown)) throw error;
    return this.#later(error.retryAfter);
  }

  #later(named: number | undefined): number {
    const seconds = named || this.#pause;
    this.#pause = Math.min(this.#pause * GROWTH, LONGEST_PAUSE);
    return seconds;
  }
}

/**
 * When the gateway says to ask again. What the user does next it cannot know: who still waits at the user's turn may have
 * just acted.
 */
function said(state: State | undefined): number | undefined {
  return state?.nextActor === "user" ? undefined : state?.nextPollSeconds;
}

/** Seconds of a clock that is never set. */
function now(): number {
  return performance.now() / 1000;
}
