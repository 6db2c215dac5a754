// Requests as programs of 1.0 write them: their types were wider than the OpenAPI document's are, and stay so.
import type { EstimateQuery, WebhookBody } from "../src/gateway.js";

const quote = { src_chain_id: 1, dst_chain_id: 56, token_symbol: "USDT", amt: "1", slippage_tolerance: 3000 };
export const flagAsText: EstimateQuery = { ...quote, is_pegged: "true" };
export const leftOut: WebhookBody = {
  url: "https://example.org/",
  name: null,
  accounts: null,
  transfer_ids: null,
  everything: "true",
};
