// Ten calls by what openapi-generator makes of the document for Java, with the HTTP client of the JDK.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.TransfersApi;
import org.openapitools.client.model.*;

public class Calls {
  public static void main(String[] given) throws Exception {
    String transferId = given[1];
    ApiClient client = new ApiClient();
    client.updateBaseUri(given[0]);
    TransfersApi api = new TransfersApi(client);

    EstimateAnswer estimate = api.estimateAmt(1L, 56L, "USDT", "1000000", null, 3000L, false);
    EstimateBody body = new EstimateBody();
    body.srcChainId(1L).dstChainId(56L).tokenSymbol("USDT").amt("1000000").slippageTolerance(3000L);
    EstimateAnswer posted = api.estimateAmtByPost(body, null);
    StatusAnswer status =
        api.getTransferStatus(new GetTransferStatusRequest(new StatusBody().transferId(transferId)));
    FindAnswer found = api.getTransfer(transferId, null, null);
    FoundTransfer transfer = found.getTransfers().get(0);
    String link = transfer.getSrcBlockTxLink();
    Long chain = transfer.getSrcSendInfo().getChain().getId();
    TransactionBody sent = new TransactionBody().txHash(link.substring(link.lastIndexOf('/') + 1)).srcChainId(chain);
    StatusAnswer again = api.getTransferStatus(new GetTransferStatusRequest(sent));
    StatusesBody ids = new StatusesBody().transferIds(List.of(transferId, "0x" + "ab".repeat(32)));
    List<List<Integer>> statuses =
        api.getTransferStatuses(ids).getStatuses().stream()
            .map(
                each ->
                    Stream.of(
                            each.getStatus().getValue(),
                            each.getErr() == null ? null : each.getErr().getCode().getValue())
                        .toList())
            .toList();
    HistoryAnswer history = api.transferHistory(List.of(transfer.getSender(), "nobody"), 10L, null);
    LatencyStatsAnswer figures = api.getTransferLatencyStats(1L, 56L, null);
    EvidenceAnswer evidence = api.getRefundEvidence(transferId);
    ConfigsAnswer configs = api.getTransferConfigs(null);
    int refused = 0;
    try {
      api.estimateAmt(1L, 56L, "USDT", "no amount", null, 3000L, null);
    } catch (ApiException error) {
      refused = error.getCode();
    }

    Map<String, Object> printed = new LinkedHashMap<>();
    printed.put("received", estimate.getEstimatedReceiveAmt());
    printed.put("posted", posted.getEstimatedReceiveAmt());
    printed.put("status", status.getStatus().getValue());
    printed.put("signatures", status.getSortedSigs().size());
    printed.put("found", found.getState().getValue());
    printed.put("by transaction", again.getStatus().getValue());
    printed.put("statuses", statuses);
    printed.put(
        "in its history", history.getHistory().stream().anyMatch(each -> each.getTransferId().equals(transferId)));
    printed.put(
        "figures",
        figures.getP99().compareTo(figures.getP90()) >= 0
            && figures.getP90().compareTo(figures.getMedian()) >= 0
            && figures.getMedian().signum() > 0);
    printed.put("evidence", evidence.getValid());
    printed.put("call", evidence.getCall().getFunction());
    printed.put(
        "lists", evidence.getCall().getArguments().stream().map(each -> each.getValue() instanceof List).toList());
    printed.put("decimals", configs.getChainToken().get("1").getToken().get(0).getToken().getDecimal());
    printed.put("refused", refused);
    System.out.println(new ObjectMapper().writeValueAsString(printed));
  }
}
