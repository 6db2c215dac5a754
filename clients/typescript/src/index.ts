// A client of a transfer gateway. Signing and sending is in "transfer-gateway-client/evm", which needs viem.
export * from "./gateway.js";
export * from "./waiting.js";
export * from "./ways.js";
export * from "./webhooks.js";
