"""The metrics of the gateway, with their labels: dashboards and alerts may name no others."""

from __future__ import annotations

METRICS: dict[str, tuple[str, ...]] = {
    "gateway_requests_total": ("door", "operation", "code"),
    "gateway_request_seconds": ("door", "operation"),
    "gateway_estimates_total": ("reason",),
    "gateway_transfers": ("status",),
    "gateway_transfers_stuck": (),
    "gateway_anomalies": ("kind",),
    "gateway_feed_age_seconds": ("reporter", "chain_id"),
    "gateway_feed_events_total": ("type", "outcome"),
    "gateway_chain_lag_seconds": ("chain_id",),
    "gateway_chain_lag_blocks": ("chain_id",),
    "gateway_config_version": (),
    "gateway_config_age_seconds": (),
    "gateway_facts_age_seconds": (),
    "gateway_pool_liquidity": ("chain_id", "token"),
    "gateway_pool_cap": ("chain_id", "token"),
    "gateway_database_connections": ("pool", "state"),
    "gateway_database_wait_timeouts_total": (),
    "gateway_replica_in_use": (),
    "gateway_replica_lag_bytes": (),
    "gateway_webhooks_due": (),
    "gateway_webhooks_oldest_due_seconds": (),
    "gateway_waiters": (),
    "gateway_ready": (),
    "gateway_build_info": ("version",),
    "gateway_workers": (),
}
OF_THE_SCRAPE = ("instance", "job", "process", "le")
"""Labels that Prometheus, its targets and histograms add."""
