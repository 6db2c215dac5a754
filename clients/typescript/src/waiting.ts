// Waiting for a transfer: by the gateway's wait where it has one, else by asking again when it says.
import { type Gateway, GatewayError, type State } from "./gateway.js";

const LONGEST_WAIT = 30;
/** Seconds between two questions where the gateway does not say: each pause is longer than the one before. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 60;
const GROWTH = 1.5;
/**
 * What a gateway answers that has no wait, or where too many wait: its status is asked for instead. So it is where
 * somebody else answers, such as a proxy.
 */
const BUSY = 503;
const NO_WAIT = [404, 405, BUSY];

export interface WaitOptions {
  /** Seconds to wait at most; an hour where it is left out. */
  timeout?: number;
  /** Seconds in which the gateway may still not know the transfer, for it was just sent; 600. */
  unknownFor?: number;
  signal?: AbortSignal;
}

/** It is not over by the time that was given. */
export class WaitTimeout extends Error {
  override name = "WaitTimeout";
}

/** Wait until the transfer is over, or until it is the user's turn: ask for a refund (6), or claim it (8). */
export function waitUntilDone(gateway: Gateway, transferId: string, options: WaitOptions = {}): Promise<State> {
  return waitUntil(gateway, transferId, (state) => state.terminal || state.nextActor === "user", options);
}

/** Wait until `arrived` says so of a state. Errors that waiting does not change are thrown. */
export async function waitUntil(
  gateway: Gateway,
  transferId: string,
  arrived: (state: State) => boolean,
  { timeout = 3600, unknownFor = 600, signal }: WaitOptions = {},
): Promise<State> {
  const began = now();
  let pause = FIRST_PAUSE;
  let waits = true; // whether the gateway has a wait
  let busy = false; // whether too many wait just now
  let seen: State | undefined;
  for (let left = timeout; left > 0; left = began + timeout - now()) {
    const asked = now();
    const waiting = seen !== undefined && waits && !busy;
    let seconds = pause;
    try {
      const state: State =
        seen !== undefined && waiting
          ? await gateway.waitStatus(transferId, seen.status, Math.max(1, Math.min(LONGEST_WAIT, Math.floor(left))), signal)
          : await gateway.status(transferId, signal);
      if (arrived(state)) return state;
      if (state.status !== seen?.status) pause = FIRST_PAUSE;
      seen = state;
      seconds = state.nextPollSeconds || pause;
      // A wait that is answered at once has not waited.
      if (waits && !busy && (!waiting || now() - asked >= 1)) continue;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof GatewayError) {
        if (waiting && (NO_WAIT.includes(error.httpStatus) || error.reason === "")) {
          waits = error.httpStatus === BUSY;
          busy = true;
          continue;
        }
        const unknown = error.reason === "transfer_not_found" && now() - began < unknownFor;
        if (!(error.isTemporary || unknown)) throw error;
        seconds = error.retryAfter ?? pause;
      } else if (!(error instanceof TypeError)) {
        throw error; // fetch tells of a network that fails by a TypeError
      }
    }
    busy = false;
    pause = Math.min(pause * GROWTH, LONGEST_PAUSE);
    await sleep(Math.max(0, Math.min(seconds, began + timeout - now())), signal);
  }
  throw new WaitTimeout(`${transferId} is at status ${seen?.status ?? "unknown"} after ${timeout} s`);
}

/** Seconds of a clock that is never set. */
function now(): number {
  return performance.now() / 1000;
}

function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
