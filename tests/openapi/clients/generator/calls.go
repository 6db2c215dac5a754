// Ten calls by what openapi-generator makes of the document for Go.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"example.org/calls/gateway"
)

func good[Answer any](answer *Answer, _ any, err error) *Answer {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	base, transferId := os.Args[1], os.Args[2]
	settings := gateway.NewConfiguration()
	settings.Servers = gateway.ServerConfigurations{{URL: base}}
	api := gateway.NewAPIClient(settings).TransfersAPI
	ctx := context.Background()

	quote := func(amount string) gateway.ApiEstimateAmtRequest {
		return api.EstimateAmt(ctx).SrcChainId(1).DstChainId(56).TokenSymbol("USDT").Amt(amount).SlippageTolerance(3000)
	}
	estimate := good(quote("1000000").IsPegged(false).Execute())
	body := gateway.NewEstimateBody(1, 56, "USDT", "1000000")
	body.SetSlippageTolerance(3000)
	posted := good(api.EstimateAmtByPost(ctx).EstimateBody(*body).Execute())

	byId := gateway.StatusBodyAsGetTransferStatusRequest(gateway.NewStatusBody(transferId))
	status := good(api.GetTransferStatus(ctx).GetTransferStatusRequest(byId).Execute())
	found := good(api.GetTransfer(ctx).Key(transferId).Execute())
	transfer := found.Transfers[0]
	link := strings.Split(transfer.SrcBlockTxLink, "/")
	var chain int64 = transfer.SrcSendInfo.Chain.Id
	sent := gateway.NewTransactionBody(link[len(link)-1], chain)
	byTransaction := gateway.TransactionBodyAsGetTransferStatusRequest(sent)
	again := good(api.GetTransferStatus(ctx).GetTransferStatusRequest(byTransaction).Execute())

	ids := gateway.NewStatusesBody([]string{transferId, "0x" + strings.Repeat("ab", 32)})
	statuses := [][]any{}
	for _, each := range good(api.GetTransferStatuses(ctx).StatusesBody(*ids).Execute()).Statuses {
		var code any
		if refusal := each.Err.Get(); refusal != nil {
			code = refusal.Code
		}
		statuses = append(statuses, []any{each.Status, code})
	}
	listed := false
	for _, each := range good(api.TransferHistory(ctx).AcctAddr([]string{transfer.Sender, "nobody"}).PageSize(10).Execute()).History {
		listed = listed || each.TransferId == transferId
	}
	figures := good(api.GetTransferLatencyStats(ctx).SrcChainId(1).DstChainId(56).Execute())
	evidence := good(api.GetRefundEvidence(ctx).TransferId(transferId).Execute())
	lists := []bool{}
	for _, each := range evidence.Call.Get().Arguments {
		lists = append(lists, each.Value.ArrayOfString != nil)
	}
	configs := good(api.GetTransferConfigs(ctx).Execute())
	_, response, err := quote("no amount").Execute()
	if err == nil {
		panic("an estimate of no amount")
	}

	printed, _ := json.Marshal(map[string]any{
		"received":       estimate.EstimatedReceiveAmt,
		"posted":         posted.EstimatedReceiveAmt,
		"status":         status.Status,
		"signatures":     len(status.SortedSigs),
		"found":          found.State,
		"by transaction": again.Status,
		"statuses":       statuses,
		"in its history": listed,
		"figures":        figures.P99 >= figures.P90 && figures.P90 >= figures.Median && figures.Median > 0,
		"evidence":       evidence.Valid,
		"call":           evidence.Call.Get().Function,
		"lists":          lists,
		"decimals":       configs.ChainToken["1"].Token[0].Token.Decimal,
		"refused":        response.StatusCode,
	})
	os.Stdout.Write(printed)
}
