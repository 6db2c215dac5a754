// One row a log, as the loop with web3 writes.
import { ponder } from "ponder:registry";
import { logs } from "ponder:schema";

const given = JSON.parse(process.env.CONTEST ?? "{}");
const plain = (_name: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

for (const { name } of given.abi) {
  ponder.on(`Bridges:${name}`, async ({ event, context }) => {
    await context.db.insert(logs).values({
      id: event.id,
      name,
      block: event.block.number,
      at: event.block.timestamp,
      txHash: event.transaction.hash,
      fields: JSON.stringify(event.args, plain),
    });
  });
}
