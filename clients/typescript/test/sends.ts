// Sends transfers on a node: `sends.js GATEWAY NODE` reads lines of JSON, one a transfer, and prints how each ended.
import { createInterface } from "node:readline";
import { type Address, createPublicClient, createWalletClient, http } from "viem";
import { getQuote } from "../src/evm.js";
import { Gateway, waitUntil } from "../src/index.js";

interface Wanted {
  sender: Address;
  receiver: string;
  tokenSymbol: string;
  srcChainId: number;
  dstChainId: number;
  amount: string;
  native: boolean;
  /** What is changed in the first, the second … answer with a transaction, by names of fields with dots between. */
  changes: Record<string, unknown>[];
}

const [, , base = "", node = ""] = process.argv;
const transport = http(node);
const publicClient = createPublicClient({ transport, pollingInterval: 200 });
const timeout = 90;

async function send({ changes, amount, sender, ...about }: Wanted): Promise<unknown> {
  const nonces = new Set<string | null>();
  const changing = async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    const url = new URL(request.url);
    if (!url.pathname.endsWith("getSendTransaction")) return response;
    nonces.add(url.searchParams.get("nonce"));
    const answer = await response.json();
    for (const [path, value] of Object.entries(changes.shift() ?? {})) put(answer, path.split("."), value);
    return Response.json(answer);
  };
  const gateway = new Gateway(base, { fetch: changing });
  const clients = { publicClient, walletClient: createWalletClient({ account: sender, transport }) };
  const request = { ...about, amount: BigInt(amount), sender, slippageTolerance: 5000 };
  const made = await getQuote(gateway, request);
  const hash = await made.send(clients);
  const { status } = await publicClient.waitForTransactionReceipt({ hash });
  // Whoever does not know whether it was sent sends it again.
  const again = await made.send(clients).catch((error: Error) => error.name);
  await waitUntil(gateway, made.transferId, (state) => state.status > 1, { timeout });
  return [status, again, nonces.size];
}

function put(answer: Record<string, unknown>, [name = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) answer[name] = value;
  else put(answer[name] as Record<string, unknown>, rest, value);
}

for await (const line of createInterface({ input: process.stdin })) {
  const ended = await send(JSON.parse(line) as Wanted).catch((error: Error) => [error.name, error.message]);
  console.log(JSON.stringify(ended));
}
