import { Gateway, waitUntilDone } from "transfer-gateway-client";

const transfer = "0x0000000000000000000000000000000000000000000000000000000000000005";
const state = await waitUntilDone(new Gateway("https://gateway.example"), transfer, { timeout: 1800 });
console.log(state.status, state.terminal, state.nextActor);
