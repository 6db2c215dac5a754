// Claims refunds on a node: `claims.js GATEWAY NODE` reads lines of JSON, one a transfer, and prints how each ended.
import { createInterface } from "node:readline";
import { type Address, type Hex, createPublicClient, createTestClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Clients, RefundRefused, claimRefund, executeDelayed } from "../src/evm.js";
import { Gateway, waitUntil } from "../src/index.js";

interface Wanted {
  transfer: string;
  receiver: Address;
  key?: Hex;
  delayed?: boolean;
}

const CONFIRMING = 9;
const [, , base = "", node = ""] = process.argv;
const gateway = new Gateway(base);
const transport = http(node);
const publicClient = createPublicClient({ transport, pollingInterval: 200 });
const timeout = 90;

/** By an account of the node's, or signed here with a key: then it is paid to somebody else than who sends. */
async function claim({ transfer, receiver, key, delayed }: Wanted): Promise<unknown> {
  const account = key === undefined ? receiver : privateKeyToAccount(key);
  const clients = { publicClient, walletClient: createWalletClient({ account, transport }) };
  const hash = await claimRefund(gateway, transfer, clients, { receiver, timeout });
  const { status: done } = await publicClient.waitForTransactionReceipt({ hash });
  if (delayed) {
    await waitUntil(gateway, transfer, (state) => state.status >= CONFIRMING, { timeout });
    await execute(transfer, clients);
  }
  const { status } = await waitUntil(gateway, transfer, (state) => state.terminal, { timeout });
  return [hash, done === "success" ? 1 : 0, status];
}

async function execute(transfer: string, clients: Clients): Promise<void> {
  const test = createTestClient({ mode: "anvil", transport });
  for (;;) {
    try {
      await executeDelayed(gateway, transfer, clients);
      return;
    } catch (error) {
      if (!(error instanceof RefundRefused)) throw error;
      // The delay is not over: let the node's clock go on.
      await test.increaseTime({ seconds: 30 });
      await test.mine({ blocks: 1 });
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await claim(JSON.parse(line) as Wanted)));
}
