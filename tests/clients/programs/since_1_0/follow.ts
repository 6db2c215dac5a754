import { Gateway } from "transfer-gateway-client";

const gateway = new Gateway("https://gateway.example");
const account = "0x5a5A5a5a5a5a5a5A5A5A5A5A5A5a5A5a5A5A0017";
for await (const transfer of gateway.history(account)) console.log(transfer.transfer_id, transfer.status);

const transferId = "0x0000000000000000000000000000000000000000000000000000000000000008";
for await (const change of gateway.events({ transferId })) {
  if (change.type === "reset") continue; // read what you follow again
  console.log(change.previousStatus, change.status, change.takenBack);
  if (change.status === 8) break;
}
