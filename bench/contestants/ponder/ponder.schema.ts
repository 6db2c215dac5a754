import { onchainTable } from "ponder";

export const logs = onchainTable("logs", (t) => ({
  id: t.text().primaryKey(),
  name: t.text(),
  block: t.bigint(),
  at: t.bigint(),
  txHash: t.text(),
  fields: t.text(),
}));
