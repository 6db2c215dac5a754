"""The answer of getTransferConfigs."""

from __future__ import annotations

from app.runtime.gateway import Gateway
from app.runtime.snapshot import TransferConfigs


def transfer_configs(gateway: Gateway) -> TransferConfigs:
    """The answer of getTransferConfigs and getTransferConfigsForAll, made when the network last changed.

    :raises Unavailable: the configuration is too old to be trusted.
    """
    return gateway.snapshots.current().configs
