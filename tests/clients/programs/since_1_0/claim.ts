import { Gateway, waitUntil } from "transfer-gateway-client";
import { claimRefund } from "transfer-gateway-client/evm";
import { createPublicClient, createWalletClient, http } from "viem";

const transfer = "0x0000000000000000000000000000000000000000000000000000000000000008";
const gateway = new Gateway("https://gateway.example");
const transport = http("https://node.example");
const walletClient = createWalletClient({ account: "0x5a5A5a5a5a5a5a5A5A5A5A5A5A5a5A5a5A5A0017", transport });
const hash = await claimRefund(gateway, transfer, { publicClient: createPublicClient({ transport }), walletClient });
const state = await waitUntil(gateway, transfer, (each) => each.terminal);
console.log(hash, state.status);
