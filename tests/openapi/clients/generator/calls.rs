//! Ten calls by what openapi-generator makes of the document for Rust.
use gateway::apis::{configuration::Configuration, transfers_api as api, Error};
use gateway::models::{
    CallArgumentValue, EstimateBody, GetTransferStatusRequest, StatusBody, StatusesBody, TransactionBody,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let given: Vec<String> = std::env::args().collect();
    let transfer_id = given[2].clone();
    let settings = Configuration { base_path: given[1].clone(), ..Configuration::default() };

    let estimate = api::estimate_amt(&settings, 1, 56, "USDT", "1000000", None, Some(3000), Some(false)).await.unwrap();
    let mut body = EstimateBody::new(1, 56, "USDT".into(), "1000000".into());
    body.slippage_tolerance = Some(3000);
    let posted = api::estimate_amt_by_post(&settings, body, None).await.unwrap();
    let by_id = GetTransferStatusRequest::StatusBody(Box::new(StatusBody::new(transfer_id.clone())));
    let status = api::get_transfer_status(&settings, by_id).await.unwrap();
    let found = api::get_transfer(&settings, &transfer_id, None, None).await.unwrap();
    let transfer = &found.transfers[0];
    let hash = transfer.src_block_tx_link.rsplit('/').next().unwrap();
    let sent = TransactionBody::new(hash.into(), transfer.src_send_info.chain.id);
    let by_transaction = GetTransferStatusRequest::TransactionBody(Box::new(sent));
    let again = api::get_transfer_status(&settings, by_transaction).await.unwrap();
    let ids = StatusesBody::new(vec![transfer_id.clone(), format!("0x{}", "ab".repeat(32))]);
    let statuses = api::get_transfer_statuses(&settings, ids).await.unwrap().statuses;
    let accounts = vec![transfer.sender.clone(), "nobody".into()];
    let history = api::transfer_history(&settings, accounts, Some(10), None).await.unwrap().history;
    let figures = api::get_transfer_latency_stats(&settings, 1, 56, None).await.unwrap();
    let evidence = api::get_refund_evidence(&settings, &transfer_id).await.unwrap();
    let call = evidence.call.unwrap();
    let configs = api::get_transfer_configs(&settings, None).await.unwrap();
    let refused = match api::estimate_amt(&settings, 1, 56, "USDT", "no amount", None, Some(3000), None).await {
        Err(Error::ResponseError(answer)) => answer.status.as_u16(),
        _ => 0,
    };

    let printed = json!({
        "received": estimate.estimated_receive_amt,
        "posted": posted.estimated_receive_amt,
        "status": status.status,
        "signatures": status.sorted_sigs.len(),
        "found": found.state,
        "by transaction": again.status,
        "statuses": statuses.iter().map(|each| json!([each.status, each.err.as_ref().map(|err| err.code)])).collect::<Vec<_>>(),
        "in its history": history.iter().any(|each| each.transfer_id == transfer_id),
        "figures": figures.p99 >= figures.p90 && figures.p90 >= figures.median && figures.median > 0.0,
        "evidence": evidence.valid,
        "call": call.function,
        "lists": call.arguments.iter().map(|each| !matches!(*each.value, CallArgumentValue::String(_))).collect::<Vec<_>>(),
        "decimals": configs.chain_token["1"].token[0].token.decimal,
        "refused": refused,
    });
    println!("{printed}");
}
