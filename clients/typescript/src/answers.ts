// What the gateway answered: the answer, or why there is none.
import type { Reason } from "./shapes.js";

/**
 * The gateway answered with an `err`, or with something that is no answer. `reason` is `X-Gateway-Reason`, by which
 * programs decide: code 500 has many causes. `retryAfter` is in seconds, where the gateway says it.
 */
export class GatewayError extends Error {
  constructor(
    readonly code: number,
    text: string,
    readonly reason: Reason,
    readonly httpStatus: number,
    readonly retryAfter: number | undefined,
  ) {
    super(`${text} (${reason || httpStatus})`);
    this.name = "GatewayError";
  }

  /** Whether the same question may be answered in minutes. */
  get isTemporary(): boolean {
    return this.httpStatus === 429 || this.httpStatus >= 500 || this.reason === "fee_stale";
  }
}

type Called = { data?: unknown; error?: unknown; response: Response };
type Answer<T> = { data?: T; error?: unknown; response: Response };

/** What was answered; a `GatewayError` where it is no JSON although it says so. */
export async function read<T>(called: Promise<T>): Promise<T> {
  try {
    return await called;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError(500, "no answer of a gateway: no JSON", "", 200, undefined);
  }
}

/** The answer; a `GatewayError` where there is an `err`, or no answer of a gateway. */
export function checked<T extends { err: object | null }>(called: Answer<T>): T {
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
