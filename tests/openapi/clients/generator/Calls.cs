// Ten calls by what openapi-generator makes of the document for C#, with the HTTP client of .NET.
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

public static class Calls
{
    public static void Main(string[] given)
    {
        string transferId = given[1];
        var api = new TransfersApi(given[0]);

        EstimateAnswer estimate = api.EstimateAmt(1, 56, "USDT", "1000000", null, 3000, false);
        var body = new EstimateBody(srcChainId: 1, dstChainId: 56, tokenSymbol: "USDT", amt: "1000000", slippageTolerance: 3000);
        EstimateAnswer posted = api.EstimateAmtByPost(body);
        StatusAnswer status = api.GetTransferStatus(new GetTransferStatusRequest(new StatusBody(transferId)));
        FindAnswer found = api.GetTransfer(transferId);
        FoundTransfer transfer = found.Transfers[0];
        string link = transfer.SrcBlockTxLink;
        long chain = transfer.SrcSendInfo.Chain.Id;
        var sent = new TransactionBody(txHash: link.Substring(link.LastIndexOf('/') + 1), srcChainId: chain);
        StatusAnswer again = api.GetTransferStatus(new GetTransferStatusRequest(sent));
        var ids = new List<string> { transferId, "0x" + new string('a', 64) };
        StatusesAnswer statuses = api.GetTransferStatuses(new StatusesBody(ids));
        HistoryAnswer history = api.TransferHistory(new List<string> { transfer.Sender, "nobody" }, 10);
        LatencyStatsAnswer figures = api.GetTransferLatencyStats(1, 56);
        EvidenceAnswer evidence = api.GetRefundEvidence(transferId);
        ConfigsAnswer configs = api.GetTransferConfigs();
        int refused = 0;
        try
        {
            api.EstimateAmt(1, 56, "USDT", "no amount", null, 3000);
        }
        catch (ApiException error)
        {
            refused = error.ErrorCode;
        }

        var printed = new Dictionary<string, object>
        {
            ["received"] = estimate.EstimatedReceiveAmt,
            ["posted"] = posted.EstimatedReceiveAmt,
            ["status"] = (int)status.Status,
            ["signatures"] = status.SortedSigs.Count,
            ["found"] = found.State,
            ["by transaction"] = (int)again.Status,
            ["statuses"] = statuses.Statuses.Select(each => new object[] { (int)each.Status, each.Err == null ? null : (object)each.Err.Code }),
            ["in its history"] = history.History.Any(each => each.TransferId == transferId),
            ["figures"] = figures.P99 >= figures.P90 && figures.P90 >= figures.Median && figures.Median > 0,
            ["evidence"] = evidence.Valid,
            ["call"] = evidence.Call.Function,
            ["lists"] = evidence.Call.Arguments.Select(each => each.Value.ActualInstance is List<string>),
            ["decimals"] = configs.ChainToken["1"].Token[0].Token.Decimal,
            ["refused"] = refused,
        };
        Console.WriteLine(JsonConvert.SerializeObject(printed));
    }
}
