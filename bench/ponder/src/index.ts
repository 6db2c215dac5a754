import { ponder } from "ponder:registry";
import { liquidity, transfer } from "ponder:schema";
import type { Hex } from "viem";

type Place = { block: { number: bigint; timestamp: bigint }; transaction: { hash: Hex } };

const sent = (event: Place) => ({
  sentBlock: event.block.number,
  sentAt: event.block.timestamp,
  sentTx: event.transaction.hash,
});
const paid = (event: Place) => ({
  paidBlock: event.block.number,
  paidAt: event.block.timestamp,
  paidTx: event.transaction.hash,
});

ponder.on("Pool:Send", async ({ event, context }) => {
  const { transferId, token, amount, sender, receiver, dstChainId } = event.args;
  const row = { kind: "pool", token, amount, sender, receiver, otherChain: dstChainId, ...sent(event) };
  await context.db.insert(transfer).values({ id: transferId, ...row }).onConflictDoUpdate(row);
});

ponder.on("Vault:Deposited", async ({ event, context }) => {
  const { depositId, token, amount, depositor, mintAccount, mintChainId } = event.args;
  const row = {
    kind: "deposit",
    token,
    amount,
    sender: depositor,
    receiver: mintAccount,
    otherChain: mintChainId,
    ...sent(event),
  };
  await context.db.insert(transfer).values({ id: depositId, ...row }).onConflictDoUpdate(row);
});

ponder.on("Bridge:Burn", async ({ event, context }) => {
  const { burnId, token, amount, account, toAccount, toChainId } = event.args;
  const row = {
    kind: "burn",
    token,
    amount,
    sender: account,
    receiver: toAccount,
    otherChain: toChainId,
    ...sent(event),
  };
  await context.db.insert(transfer).values({ id: burnId, ...row }).onConflictDoUpdate(row);
});

ponder.on("Pool:Relay", async ({ event, context }) => {
  await context.db
    .insert(transfer)
    .values({ id: event.args.srcTransferId, ...paid(event) })
    .onConflictDoUpdate(paid(event));
});

ponder.on("Vault:Withdrawn", async ({ event, context }) => {
  await context.db
    .insert(transfer)
    .values({ id: event.args.refId, ...paid(event) })
    .onConflictDoUpdate(paid(event));
});

ponder.on("Bridge:Mint", async ({ event, context }) => {
  await context.db
    .insert(transfer)
    .values({ id: event.args.refId, ...paid(event) })
    .onConflictDoUpdate(paid(event));
});

ponder.on("Pool:LiquidityAdded", async ({ event, context }) => {
  const { token, amount } = event.args;
  await context.db.insert(liquidity).values({ id: event.id, token, added: amount });
});

ponder.on("Pool:WithdrawDone", async ({ event, context }) => {
  const { token, amount } = event.args;
  await context.db.insert(liquidity).values({ id: event.id, token, withdrawn: amount });
});
