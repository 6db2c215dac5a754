import { Gateway } from "transfer-gateway-client";

const targets = new Set<number>();
for await (const way of new Gateway("https://gateway.example").ways()) {
  if (way.symbol === "USDT" && way.srcChainId === 1) targets.add(way.dstChainId);
}
console.log([...targets].sort((one, other) => one - other).join(" "));
