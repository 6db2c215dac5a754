// The types of answers: those of schema.ts, with what viem and editors need to know beyond them.
import type { components } from "./schema.js";

/** Hex with 0x in front, as viem takes it. */
export type Hex = `0x${string}`;

/** The shapes as the OpenAPI document has them. */
export type Raw = components["schemas"];

/** Fields of answers that are always hex with 0x. Accounts are not: they may be on chains of any kind. */
type HexName =
  | "contract"
  | "data"
  | "delayed_id"
  | "digest"
  | "separator"
  | "spender"
  | "to"
  | "token"
  | "transfer_id"
  | "transfer_ids"
  | "tx_hash"
  | "validator_set_hash"
  | "withdraw_id";

/** The same text or list of texts as hex; null stays null. */
type AsHex<T> = T extends string ? Hex : T extends string[] ? Hex[] : T;
/** Any text, of which an editor offers those that are known. */
type Open<T> = T | (string & {});

type Field<T, N extends keyof T> = N extends HexName
  ? AsHex<T[N]>
  : N extends "signature"
    ? SignatureOf<T>
    : N extends "reason"
      ? Open<T[N]>
      : Answered<T[N]>;
/** A validator's is hex, a function's is its name and types. */
type SignatureOf<T> = T extends { signature: infer S; signed: boolean } ? AsHex<S> : T extends { signature: infer S } ? S : never;

/** A shape as it is answered. */
export type Answered<T> = T extends (infer E)[]
  ? Answered<E>[]
  : T extends object
    ? { [N in keyof T]: Field<T, N> }
    : T;

/** The shapes of the OpenAPI document, by name: those of answers, and the bodies of requests. */
export type Shapes = {
  [N in keyof Raw]: N extends `${string}Body` | `${string}Form` ? Raw[N] : Answered<Raw[N]>;
};

/** TransferHistoryStatus: docs/interface/status.md#status-table. */
export type Status = Raw["StatusAnswer"]["status"];
/** XferStatus: why a transfer is refunded. */
export type RefundReason = Raw["StatusAnswer"]["refund_reason"];
/** `X-Gateway-Reason`. Newer gateways may have further ones. */
export type Reason = Open<Raw["ExplainedRefusal"]["reason"]>;
/** Who acts next. */
export type Actor = Open<"network" | "user" | "nobody">;
