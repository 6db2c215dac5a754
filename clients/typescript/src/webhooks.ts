// Webhooks: whether a delivery comes from the gateway (Standard Webhooks, signature v1).

/** How far the time of a delivery may be from now, on either side, in seconds. */
const TOLERANCE = 300;
const PREFIX = "whsec_";

/** The delivery is not to be believed. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

type Delivered = Headers | Record<string, string | string[] | undefined>;

/**
 * The event of a delivery that one of the secrets has signed; `WebhookError` where a header is missing, the time is
 * too far away, no signature fits, or a secret cannot be read. The same `webhook-id` may come again: keep the ids that were handled.
 *
 * @param body as it was received, before any reader of JSON has touched it
 * @param headers their names in upper or lower case
 * @param secrets `whsec_…`; two while one replaces the other
 * @param now seconds since 1970, for tests
 */
export async function verifyWebhook<Event = unknown>(
  body: string | Uint8Array,
  headers: Delivered,
  secrets: string | readonly string[],
  now: number = Date.now() / 1000,
): Promise<Event> {
  const id = header(headers, "webhook-id");
  const moment = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature").split(" ");
  if (!/^\d{1,12}$/.test(moment)) throw new WebhookError("webhook-timestamp cannot be read");
  const away = Math.abs(now - Number(moment));
  if (away > TOLERANCE) throw new WebhookError("the time of the delivery is too far from now");
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${moment}.`), ...content]);
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const text = secret.replace(/\s/g, "");
    const raw = bytes(text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text);
    if (!raw.length) {
      // anybody can sign with an empty key
      throw new WebhookError("a secret cannot be read: it must be whsec_ and base64, as the gateway showed it");
    }
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      const [version, value = ""] = signature.split(",");
      if (version === "v1" && (await crypto.subtle.verify("HMAC", key, bytes(value), signed))) {
        return JSON.parse(new TextDecoder().decode(content));
      }
    }
  }
  throw new WebhookError("no signature is by this secret");
}

function header(headers: Delivered, name: string): string {
  const found = headers instanceof Headers ? headers.get(name) : valueOf(headers, name);
  if (typeof found !== "string") throw new WebhookError(`a header is missing: ${name}`);
  return found;
}

/** The value of a header in an object, whose names may be in upper case. */
function valueOf(headers: Exclude<Delivered, Headers>, name: string): string | string[] | undefined {
  return Object.entries(headers).find(([each, value]) => value !== undefined && each.toLowerCase() === name)?.[1];
}

/** Bytes out of base64; none where it is no base64. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
