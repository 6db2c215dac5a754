// A client of a transfer gateway. Signing and sending is in "transfer-gateway-client/evm", which needs viem.
export { GatewayError } from "./answers.js";
export type { CallOptions } from "./calls.js";
export type { Change, Reset, StatusEvent } from "./events.js";
export * from "./gateway.js";
export type { Actor, Hex, Reason, RefundReason, Shapes, Status } from "./shapes.js";
export * from "./waiting.js";
export * from "./ways.js";
export * from "./webhooks.js";
