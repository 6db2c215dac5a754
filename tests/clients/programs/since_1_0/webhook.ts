import { WebhookError, verifyWebhook } from "transfer-gateway-client";

interface Changed {
  data: { transfer_id: string; status: number };
}

export async function receive(body: string, headers: Headers): Promise<number> {
  try {
    const { data } = await verifyWebhook<Changed>(body, headers, "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    console.log(data.transfer_id, data.status);
    return 204;
  } catch (error) {
    if (error instanceof WebhookError) return 400;
    throw error;
  }
}
