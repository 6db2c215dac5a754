// A call ends: by its answer, by the caller's signal, or when nothing has answered for too long.

/** Seconds in which a gateway answers, unless the caller says otherwise. */
export const ANSWERED_WITHIN = 20;
/** What a timer takes at most, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What every method of `Gateway` takes last. */
export interface CallOptions {
  /** Ends the call, with the signal's reason as its error. */
  signal?: AbortSignal | undefined;
  /** Seconds until a `DOMException` named `TimeoutError`; 20, or what the gateway was made with. */
  timeout?: number | undefined;
}

/** What `call` gives, which is handed a signal that ends it. It ends also where `call` does not heed that signal. */
export async function within<T>(
  { signal, timeout = ANSWERED_WITHIN }: CallOptions,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // Not AbortSignal.any and AbortSignal.timeout: of a signal that lives long, nothing may be left behind by a call.
  const ends = new AbortController();
  const abort = (): void => ends.abort(signal?.reason);
  const late = (): void => ends.abort(new DOMException(`no answer within ${timeout} s`, "TimeoutError"));
  const timer = setTimeout(late, Math.min(timeout * 1000, LONGEST_TIMER));
  signal?.addEventListener("abort", abort);
  const ended = new Promise<never>((_, reject) => {
    ends.signal.addEventListener("abort", () => reject(ends.signal.reason));
  });
  try {
    return await Promise.race([ended, call(ends.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
