import { Gateway, findWay, sendArguments } from "transfer-gateway-client";

const gateway = new Gateway("https://gateway.example");
const way = findWay(await gateway.configs(), "USDT", 1, 56);
const estimate = await gateway.estimate({
  src_chain_id: 1, dst_chain_id: 56, token_symbol: "USDT", amt: "25000000", slippage_tolerance: 3000,
  is_pegged: way.isPegged,
});
const receiver = "0x5a5A5a5a5a5a5a5A5A5A5A5A5A5a5A5a5A5A0017";
const send = sendArguments(way, estimate, { amount: 25_000_000n, receiver });
console.log(send.contract, send.signature, send.arguments, send.minimumReceived);
