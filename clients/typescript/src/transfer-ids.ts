// The ids that contracts give transfers: docs/interface/contracts.md#transfer-ids.
import { type Hex, concat, encodePacked, getAddress, keccak256 } from "viem";
import type { Send } from "./ways.js";

/** The id that the contract gives a send, known before it is sent. */
export function transferId(sender: string, send: Send): Hex {
  const { way } = send;
  const [from, receiver] = [getAddress(sender), getAddress(send.receiver)];
  const what = encodePacked(["address", "uint256"], [getAddress(send.token), send.amount]);
  const to = encodePacked(["uint64"], [BigInt(way.kind === "burn" ? way.toChain : way.dstChainId)]);
  const tail = encodePacked(["uint64", "uint64"], [send.nonce, BigInt(way.srcChainId)]);
  if (way.kind === "pool") return keccak256(concat([from, receiver, what, to, tail]));
  const second = way.version === 2;
  const named = way.kind === "deposit" || second ? to : "0x";
  return keccak256(concat([from, what, named, receiver, tail, second ? getAddress(send.contract) : "0x"]));
}
