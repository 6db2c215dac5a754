// Less than what the gateway keeps of the same logs: a row a transfer and a row a change of liquidity.
import { onchainTable } from "ponder";

export const transfer = onchainTable("transfer", (t) => ({
  id: t.hex().primaryKey(),
  kind: t.text(),
  token: t.hex(),
  amount: t.bigint(),
  sender: t.hex(),
  receiver: t.hex(),
  otherChain: t.bigint(),
  sentBlock: t.bigint(),
  sentAt: t.bigint(),
  sentTx: t.hex(),
  paidBlock: t.bigint(),
  paidAt: t.bigint(),
  paidTx: t.hex(),
}));

export const liquidity = onchainTable("liquidity", (t) => ({
  id: t.text().primaryKey(),
  token: t.hex(),
  added: t.bigint(),
  withdrawn: t.bigint(),
}));
