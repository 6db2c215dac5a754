from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TransferHistoryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSFER_UNKNOWN: _ClassVar[TransferHistoryStatus]
    TRANSFER_SUBMITTING: _ClassVar[TransferHistoryStatus]
    TRANSFER_FAILED: _ClassVar[TransferHistoryStatus]
    TRANSFER_WAITING_FOR_NET_CONFIRMATION: _ClassVar[TransferHistoryStatus]
    TRANSFER_WAITING_FOR_FUND_RELEASE: _ClassVar[TransferHistoryStatus]
    TRANSFER_COMPLETED: _ClassVar[TransferHistoryStatus]
    TRANSFER_TO_BE_REFUNDED: _ClassVar[TransferHistoryStatus]
    TRANSFER_REQUESTING_REFUND: _ClassVar[TransferHistoryStatus]
    TRANSFER_REFUND_TO_BE_CONFIRMED: _ClassVar[TransferHistoryStatus]
    TRANSFER_CONFIRMING_YOUR_REFUND: _ClassVar[TransferHistoryStatus]
    TRANSFER_REFUNDED: _ClassVar[TransferHistoryStatus]
    TRANSFER_DELAYED: _ClassVar[TransferHistoryStatus]

class XferStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN: _ClassVar[XferStatus]
    OK_TO_RELAY: _ClassVar[XferStatus]
    SUCCESS: _ClassVar[XferStatus]
    BAD_LIQUIDITY: _ClassVar[XferStatus]
    BAD_SLIPPAGE: _ClassVar[XferStatus]
    BAD_TOKEN: _ClassVar[XferStatus]
    REFUND_REQUESTED: _ClassVar[XferStatus]
    REFUND_DONE: _ClassVar[XferStatus]
    BAD_XFER_DISABLED: _ClassVar[XferStatus]
    BAD_DEST_CHAIN: _ClassVar[XferStatus]

class ErrCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_CODE_UNDEFINED: _ClassVar[ErrCode]
    ERROR_CODE_COMMON: _ClassVar[ErrCode]
    ERROR_NO_TOKEN_ON_DST_CHAIN: _ClassVar[ErrCode]
    ERROR_NO_TOKEN_ON_SRC_CHAIN: _ClassVar[ErrCode]
    ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN: _ClassVar[ErrCode]
    ERROR_CODE_INBOUND_LIQUIDITY_LIMIT: _ClassVar[ErrCode]
    ERROR_CODE_TRANSFER_DISABLED: _ClassVar[ErrCode]
    ERROR_CODE_BAD_LIQ_SLIPPAGE: _ClassVar[ErrCode]
    ERROR_CODE_ADDRESS_BLOCKED: _ClassVar[ErrCode]
    ERROR_CODE_BLOCK_BRIDGE_DIRECT: _ClassVar[ErrCode]
    ERROR_CODE_LIQ_OVER_CAP: _ClassVar[ErrCode]
    ErrCode_ERROR_CODE_VPN_BLOCK: _ClassVar[ErrCode]

class WithdrawMethodType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WITHDRAW_METHOD_UNDEFINED: _ClassVar[WithdrawMethodType]
    WITHDRAW_METHOD_1: _ClassVar[WithdrawMethodType]
    WITHDRAW_METHOD_2: _ClassVar[WithdrawMethodType]

class BridgeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BRIDGE_TYPE_UNDEFINED: _ClassVar[BridgeType]
    BRIDGE_TYPE_POOL: _ClassVar[BridgeType]
    BRIDGE_TYPE_DEPOSIT_MINT: _ClassVar[BridgeType]
    BRIDGE_TYPE_BURN_WITHDRAW: _ClassVar[BridgeType]
    BRIDGE_TYPE_BURN_MINT: _ClassVar[BridgeType]
TRANSFER_UNKNOWN: TransferHistoryStatus
TRANSFER_SUBMITTING: TransferHistoryStatus
TRANSFER_FAILED: TransferHistoryStatus
TRANSFER_WAITING_FOR_NET_CONFIRMATION: TransferHistoryStatus
TRANSFER_WAITING_FOR_FUND_RELEASE: TransferHistoryStatus
TRANSFER_COMPLETED: TransferHistoryStatus
TRANSFER_TO_BE_REFUNDED: TransferHistoryStatus
TRANSFER_REQUESTING_REFUND: TransferHistoryStatus
TRANSFER_REFUND_TO_BE_CONFIRMED: TransferHistoryStatus
TRANSFER_CONFIRMING_YOUR_REFUND: TransferHistoryStatus
TRANSFER_REFUNDED: TransferHistoryStatus
TRANSFER_DELAYED: TransferHistoryStatus
UNKNOWN: XferStatus
OK_TO_RELAY: XferStatus
SUCCESS: XferStatus
BAD_LIQUIDITY: XferStatus
BAD_SLIPPAGE: XferStatus
BAD_TOKEN: XferStatus
REFUND_REQUESTED: XferStatus
REFUND_DONE: XferStatus
BAD_XFER_DISABLED: XferStatus
BAD_DEST_CHAIN: XferStatus
ERROR_CODE_UNDEFINED: ErrCode
ERROR_CODE_COMMON: ErrCode
ERROR_NO_TOKEN_ON_DST_CHAIN: ErrCode
ERROR_NO_TOKEN_ON_SRC_CHAIN: ErrCode
ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN: ErrCode
ERROR_CODE_INBOUND_LIQUIDITY_LIMIT: ErrCode
ERROR_CODE_TRANSFER_DISABLED: ErrCode
ERROR_CODE_BAD_LIQ_SLIPPAGE: ErrCode
ERROR_CODE_ADDRESS_BLOCKED: ErrCode
ERROR_CODE_BLOCK_BRIDGE_DIRECT: ErrCode
ERROR_CODE_LIQ_OVER_CAP: ErrCode
ErrCode_ERROR_CODE_VPN_BLOCK: ErrCode
WITHDRAW_METHOD_UNDEFINED: WithdrawMethodType
WITHDRAW_METHOD_1: WithdrawMethodType
WITHDRAW_METHOD_2: WithdrawMethodType
BRIDGE_TYPE_UNDEFINED: BridgeType
BRIDGE_TYPE_POOL: BridgeType
BRIDGE_TYPE_DEPOSIT_MINT: BridgeType
BRIDGE_TYPE_BURN_WITHDRAW: BridgeType
BRIDGE_TYPE_BURN_MINT: BridgeType

class EstimateAmtRequest(_message.Message):
    __slots__ = ("src_chain_id", "dst_chain_id", "token_symbol", "amt", "usr_addr", "slippage_tolerance", "is_pegged")
    SRC_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    DST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    AMT_FIELD_NUMBER: _ClassVar[int]
    USR_ADDR_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    IS_PEGGED_FIELD_NUMBER: _ClassVar[int]
    src_chain_id: int
    dst_chain_id: int
    token_symbol: str
    amt: str
    usr_addr: str
    slippage_tolerance: int
    is_pegged: bool
    def __init__(self, src_chain_id: _Optional[int] = ..., dst_chain_id: _Optional[int] = ..., token_symbol: _Optional[str] = ..., amt: _Optional[str] = ..., usr_addr: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ..., is_pegged: _Optional[bool] = ...) -> None: ...

class EstimateAmtResponse(_message.Message):
    __slots__ = ("err", "eq_value_token_amt", "bridge_rate", "perc_fee", "slippage_tolerance", "max_slippage", "base_fee", "estimated_receive_amt", "drop_gas_amt")
    ERR_FIELD_NUMBER: _ClassVar[int]
    EQ_VALUE_TOKEN_AMT_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_RATE_FIELD_NUMBER: _ClassVar[int]
    PERC_FEE_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    MAX_SLIPPAGE_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_RECEIVE_AMT_FIELD_NUMBER: _ClassVar[int]
    DROP_GAS_AMT_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    eq_value_token_amt: str
    bridge_rate: float
    perc_fee: str
    slippage_tolerance: int
    max_slippage: int
    base_fee: str
    estimated_receive_amt: str
    drop_gas_amt: str
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., eq_value_token_amt: _Optional[str] = ..., bridge_rate: _Optional[float] = ..., perc_fee: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ..., max_slippage: _Optional[int] = ..., base_fee: _Optional[str] = ..., estimated_receive_amt: _Optional[str] = ..., drop_gas_amt: _Optional[str] = ...) -> None: ...

class GetSendTransactionRequest(_message.Message):
    __slots__ = ("src_chain_id", "dst_chain_id", "token_symbol", "amt", "sender", "slippage_tolerance", "is_pegged", "receiver", "nonce", "native")
    SRC_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    DST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    AMT_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    IS_PEGGED_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    src_chain_id: int
    dst_chain_id: int
    token_symbol: str
    amt: str
    sender: str
    slippage_tolerance: int
    is_pegged: bool
    receiver: str
    nonce: str
    native: bool
    def __init__(self, src_chain_id: _Optional[int] = ..., dst_chain_id: _Optional[int] = ..., token_symbol: _Optional[str] = ..., amt: _Optional[str] = ..., sender: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ..., is_pegged: _Optional[bool] = ..., receiver: _Optional[str] = ..., nonce: _Optional[str] = ..., native: _Optional[bool] = ...) -> None: ...

class GetSendTransactionResponse(_message.Message):
    __slots__ = ("err", "eq_value_token_amt", "bridge_rate", "perc_fee", "slippage_tolerance", "max_slippage", "base_fee", "estimated_receive_amt", "drop_gas_amt", "transaction", "approval", "transfer_id", "valid_until")
    ERR_FIELD_NUMBER: _ClassVar[int]
    EQ_VALUE_TOKEN_AMT_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_RATE_FIELD_NUMBER: _ClassVar[int]
    PERC_FEE_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    MAX_SLIPPAGE_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_RECEIVE_AMT_FIELD_NUMBER: _ClassVar[int]
    DROP_GAS_AMT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    eq_value_token_amt: str
    bridge_rate: float
    perc_fee: str
    slippage_tolerance: int
    max_slippage: int
    base_fee: str
    estimated_receive_amt: str
    drop_gas_amt: str
    transaction: Transaction
    approval: Approval
    transfer_id: str
    valid_until: str
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., eq_value_token_amt: _Optional[str] = ..., bridge_rate: _Optional[float] = ..., perc_fee: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ..., max_slippage: _Optional[int] = ..., base_fee: _Optional[str] = ..., estimated_receive_amt: _Optional[str] = ..., drop_gas_amt: _Optional[str] = ..., transaction: _Optional[_Union[Transaction, _Mapping]] = ..., approval: _Optional[_Union[Approval, _Mapping]] = ..., transfer_id: _Optional[str] = ..., valid_until: _Optional[str] = ...) -> None: ...

class Transaction(_message.Message):
    __slots__ = ("chain_id", "to", "data", "value")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    chain_id: int
    to: str
    data: str
    value: str
    def __init__(self, chain_id: _Optional[int] = ..., to: _Optional[str] = ..., data: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("token", "spender", "amount", "transaction")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SPENDER_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    token: str
    spender: str
    amount: str
    transaction: Transaction
    def __init__(self, token: _Optional[str] = ..., spender: _Optional[str] = ..., amount: _Optional[str] = ..., transaction: _Optional[_Union[Transaction, _Mapping]] = ...) -> None: ...

class GetTransferStatusRequest(_message.Message):
    __slots__ = ("transfer_id",)
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    transfer_id: str
    def __init__(self, transfer_id: _Optional[str] = ...) -> None: ...

class GetTransferStatusResponse(_message.Message):
    __slots__ = ("err", "status", "wd_onchain", "sorted_sigs", "signers", "powers", "refund_reason", "block_delay", "src_block_tx_link", "dst_block_tx_link", "bridge_type")
    ERR_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WD_ONCHAIN_FIELD_NUMBER: _ClassVar[int]
    SORTED_SIGS_FIELD_NUMBER: _ClassVar[int]
    SIGNERS_FIELD_NUMBER: _ClassVar[int]
    POWERS_FIELD_NUMBER: _ClassVar[int]
    REFUND_REASON_FIELD_NUMBER: _ClassVar[int]
    BLOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    SRC_BLOCK_TX_LINK_FIELD_NUMBER: _ClassVar[int]
    DST_BLOCK_TX_LINK_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    status: TransferHistoryStatus
    wd_onchain: bytes
    sorted_sigs: _containers.RepeatedScalarFieldContainer[bytes]
    signers: _containers.RepeatedScalarFieldContainer[bytes]
    powers: _containers.RepeatedScalarFieldContainer[bytes]
    refund_reason: XferStatus
    block_delay: int
    src_block_tx_link: str
    dst_block_tx_link: str
    bridge_type: BridgeType
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., status: _Optional[_Union[TransferHistoryStatus, str]] = ..., wd_onchain: _Optional[bytes] = ..., sorted_sigs: _Optional[_Iterable[bytes]] = ..., signers: _Optional[_Iterable[bytes]] = ..., powers: _Optional[_Iterable[bytes]] = ..., refund_reason: _Optional[_Union[XferStatus, str]] = ..., block_delay: _Optional[int] = ..., src_block_tx_link: _Optional[str] = ..., dst_block_tx_link: _Optional[str] = ..., bridge_type: _Optional[_Union[BridgeType, str]] = ...) -> None: ...

class GetLatest7DayTransferLatencyForQueryRequest(_message.Message):
    __slots__ = ("src_chain_id", "dst_chain_id")
    SRC_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    DST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    src_chain_id: int
    dst_chain_id: int
    def __init__(self, src_chain_id: _Optional[int] = ..., dst_chain_id: _Optional[int] = ...) -> None: ...

class GetLatest7DayTransferLatencyForQueryResponse(_message.Message):
    __slots__ = ("err", "median_transfer_latency_in_second")
    ERR_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_TRANSFER_LATENCY_IN_SECOND_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    median_transfer_latency_in_second: float
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., median_transfer_latency_in_second: _Optional[float] = ...) -> None: ...

class GetTransferConfigsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTransferConfigsResponse(_message.Message):
    __slots__ = ("err", "chains", "chain_token", "farming_reward_contract_addr", "pegged_pair_configs", "blocked_bridge_direct")
    class ChainTokenEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: ChainTokenInfo
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[ChainTokenInfo, _Mapping]] = ...) -> None: ...
    ERR_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    CHAIN_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FARMING_REWARD_CONTRACT_ADDR_FIELD_NUMBER: _ClassVar[int]
    PEGGED_PAIR_CONFIGS_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_BRIDGE_DIRECT_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    chains: _containers.RepeatedCompositeFieldContainer[Chain]
    chain_token: _containers.MessageMap[int, ChainTokenInfo]
    farming_reward_contract_addr: str
    pegged_pair_configs: _containers.RepeatedCompositeFieldContainer[PeggedPairConfig]
    blocked_bridge_direct: _containers.RepeatedCompositeFieldContainer[BlockedBridgeDirect]
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., chains: _Optional[_Iterable[_Union[Chain, _Mapping]]] = ..., chain_token: _Optional[_Mapping[int, ChainTokenInfo]] = ..., farming_reward_contract_addr: _Optional[str] = ..., pegged_pair_configs: _Optional[_Iterable[_Union[PeggedPairConfig, _Mapping]]] = ..., blocked_bridge_direct: _Optional[_Iterable[_Union[BlockedBridgeDirect, _Mapping]]] = ...) -> None: ...

class TransferHistoryRequest(_message.Message):
    __slots__ = ("next_page_token", "page_size", "addr", "acct_addr")
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    ADDR_FIELD_NUMBER: _ClassVar[int]
    ACCT_ADDR_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    page_size: int
    addr: str
    acct_addr: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, next_page_token: _Optional[str] = ..., page_size: _Optional[int] = ..., addr: _Optional[str] = ..., acct_addr: _Optional[_Iterable[str]] = ...) -> None: ...

class TransferHistoryResponse(_message.Message):
    __slots__ = ("err", "history", "next_page_token", "current_size")
    ERR_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CURRENT_SIZE_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    history: _containers.RepeatedCompositeFieldContainer[TransferHistory]
    next_page_token: str
    current_size: int
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., history: _Optional[_Iterable[_Union[TransferHistory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., current_size: _Optional[int] = ...) -> None: ...

class WithdrawLiquidityRequest(_message.Message):
    __slots__ = ("withdraw_req", "sig", "estimated_received_amt", "method_type")
    WITHDRAW_REQ_FIELD_NUMBER: _ClassVar[int]
    SIG_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_RECEIVED_AMT_FIELD_NUMBER: _ClassVar[int]
    METHOD_TYPE_FIELD_NUMBER: _ClassVar[int]
    withdraw_req: bytes
    sig: bytes
    estimated_received_amt: str
    method_type: WithdrawMethodType
    def __init__(self, withdraw_req: _Optional[bytes] = ..., sig: _Optional[bytes] = ..., estimated_received_amt: _Optional[str] = ..., method_type: _Optional[_Union[WithdrawMethodType, str]] = ...) -> None: ...

class WithdrawLiquidityResponse(_message.Message):
    __slots__ = ("err", "seq_num")
    ERR_FIELD_NUMBER: _ClassVar[int]
    SEQ_NUM_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    seq_num: int
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., seq_num: _Optional[int] = ...) -> None: ...

class EstimateWithdrawAmtRequest(_message.Message):
    __slots__ = ("src_withdraws", "dst_chain_id", "token_symbol", "usr_addr")
    SRC_WITHDRAWS_FIELD_NUMBER: _ClassVar[int]
    DST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    USR_ADDR_FIELD_NUMBER: _ClassVar[int]
    src_withdraws: _containers.RepeatedCompositeFieldContainer[WithdrawSource]
    dst_chain_id: int
    token_symbol: str
    usr_addr: str
    def __init__(self, src_withdraws: _Optional[_Iterable[_Union[WithdrawSource, _Mapping]]] = ..., dst_chain_id: _Optional[int] = ..., token_symbol: _Optional[str] = ..., usr_addr: _Optional[str] = ...) -> None: ...

class WithdrawSource(_message.Message):
    __slots__ = ("chain_id", "amount", "slippage_tolerance")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    chain_id: int
    amount: str
    slippage_tolerance: int
    def __init__(self, chain_id: _Optional[int] = ..., amount: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ...) -> None: ...

class EstimateWithdrawAmtResponse(_message.Message):
    __slots__ = ("err", "req_amt")
    class ReqAmtEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: WithdrawEstimate
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[WithdrawEstimate, _Mapping]] = ...) -> None: ...
    ERR_FIELD_NUMBER: _ClassVar[int]
    REQ_AMT_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    req_amt: _containers.MessageMap[int, WithdrawEstimate]
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., req_amt: _Optional[_Mapping[int, WithdrawEstimate]] = ...) -> None: ...

class WithdrawEstimate(_message.Message):
    __slots__ = ("eq_value_token_amt", "bridge_rate", "perc_fee", "base_fee", "slippage_tolerance", "max_slippage")
    EQ_VALUE_TOKEN_AMT_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_RATE_FIELD_NUMBER: _ClassVar[int]
    PERC_FEE_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    MAX_SLIPPAGE_FIELD_NUMBER: _ClassVar[int]
    eq_value_token_amt: str
    bridge_rate: float
    perc_fee: str
    base_fee: str
    slippage_tolerance: int
    max_slippage: int
    def __init__(self, eq_value_token_amt: _Optional[str] = ..., bridge_rate: _Optional[float] = ..., perc_fee: _Optional[str] = ..., base_fee: _Optional[str] = ..., slippage_tolerance: _Optional[int] = ..., max_slippage: _Optional[int] = ...) -> None: ...

class GetTokenBoundRequest(_message.Message):
    __slots__ = ("chain_id", "token_addr")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ADDR_FIELD_NUMBER: _ClassVar[int]
    chain_id: int
    token_addr: str
    def __init__(self, chain_id: _Optional[int] = ..., token_addr: _Optional[str] = ...) -> None: ...

class GetTokenBoundResponse(_message.Message):
    __slots__ = ("value", "err")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERR_FIELD_NUMBER: _ClassVar[int]
    value: str
    err: ErrMsg
    def __init__(self, value: _Optional[str] = ..., err: _Optional[_Union[ErrMsg, _Mapping]] = ...) -> None: ...

class GetTokenInfoRequest(_message.Message):
    __slots__ = ("chain_id", "token_symbol")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    chain_id: int
    token_symbol: str
    def __init__(self, chain_id: _Optional[int] = ..., token_symbol: _Optional[str] = ...) -> None: ...

class GetTokenInfoResponse(_message.Message):
    __slots__ = ("err", "token_info")
    ERR_FIELD_NUMBER: _ClassVar[int]
    TOKEN_INFO_FIELD_NUMBER: _ClassVar[int]
    err: ErrMsg
    token_info: TokenInfo
    def __init__(self, err: _Optional[_Union[ErrMsg, _Mapping]] = ..., token_info: _Optional[_Union[TokenInfo, _Mapping]] = ...) -> None: ...

class ErrMsg(_message.Message):
    __slots__ = ("code", "msg")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MSG_FIELD_NUMBER: _ClassVar[int]
    code: ErrCode
    msg: str
    def __init__(self, code: _Optional[_Union[ErrCode, str]] = ..., msg: _Optional[str] = ...) -> None: ...

class Chain(_message.Message):
    __slots__ = ("id", "name", "icon", "block_delay", "gas_token_symbol", "explore_url", "contract_addr", "drop_gas_amt", "suggested_base_fee", "drop_gas_cost_amt", "drop_gas_balance_alert", "suggested_gas_cost")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ICON_FIELD_NUMBER: _ClassVar[int]
    BLOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    GAS_TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    EXPLORE_URL_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_ADDR_FIELD_NUMBER: _ClassVar[int]
    DROP_GAS_AMT_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_BASE_FEE_FIELD_NUMBER: _ClassVar[int]
    DROP_GAS_COST_AMT_FIELD_NUMBER: _ClassVar[int]
    DROP_GAS_BALANCE_ALERT_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_GAS_COST_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    icon: str
    block_delay: int
    gas_token_symbol: str
    explore_url: str
    contract_addr: str
    drop_gas_amt: str
    suggested_base_fee: float
    drop_gas_cost_amt: str
    drop_gas_balance_alert: str
    suggested_gas_cost: int
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., icon: _Optional[str] = ..., block_delay: _Optional[int] = ..., gas_token_symbol: _Optional[str] = ..., explore_url: _Optional[str] = ..., contract_addr: _Optional[str] = ..., drop_gas_amt: _Optional[str] = ..., suggested_base_fee: _Optional[float] = ..., drop_gas_cost_amt: _Optional[str] = ..., drop_gas_balance_alert: _Optional[str] = ..., suggested_gas_cost: _Optional[int] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("symbol", "address", "decimal", "xfer_disabled")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DECIMAL_FIELD_NUMBER: _ClassVar[int]
    XFER_DISABLED_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    decimal: int
    xfer_disabled: bool
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ..., decimal: _Optional[int] = ..., xfer_disabled: _Optional[bool] = ...) -> None: ...

class TokenInfo(_message.Message):
    __slots__ = ("token", "name", "icon", "inbound_lmt", "inbound_epoch_cap", "transfer_disabled")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ICON_FIELD_NUMBER: _ClassVar[int]
    INBOUND_LMT_FIELD_NUMBER: _ClassVar[int]
    INBOUND_EPOCH_CAP_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_DISABLED_FIELD_NUMBER: _ClassVar[int]
    token: Token
    name: str
    icon: str
    inbound_lmt: str
    inbound_epoch_cap: str
    transfer_disabled: bool
    def __init__(self, token: _Optional[_Union[Token, _Mapping]] = ..., name: _Optional[str] = ..., icon: _Optional[str] = ..., inbound_lmt: _Optional[str] = ..., inbound_epoch_cap: _Optional[str] = ..., transfer_disabled: _Optional[bool] = ...) -> None: ...

class ChainTokenInfo(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: _containers.RepeatedCompositeFieldContainer[TokenInfo]
    def __init__(self, token: _Optional[_Iterable[_Union[TokenInfo, _Mapping]]] = ...) -> None: ...

class PeggedPairConfig(_message.Message):
    __slots__ = ("org_chain_id", "org_token", "pegged_chain_id", "pegged_token", "pegged_deposit_contract_addr", "pegged_burn_contract_addr", "canonical_token_contract_addr", "vault_version", "bridge_version")
    ORG_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    ORG_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PEGGED_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    PEGGED_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PEGGED_DEPOSIT_CONTRACT_ADDR_FIELD_NUMBER: _ClassVar[int]
    PEGGED_BURN_CONTRACT_ADDR_FIELD_NUMBER: _ClassVar[int]
    CANONICAL_TOKEN_CONTRACT_ADDR_FIELD_NUMBER: _ClassVar[int]
    VAULT_VERSION_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    org_chain_id: int
    org_token: TokenInfo
    pegged_chain_id: int
    pegged_token: TokenInfo
    pegged_deposit_contract_addr: str
    pegged_burn_contract_addr: str
    canonical_token_contract_addr: str
    vault_version: int
    bridge_version: int
    def __init__(self, org_chain_id: _Optional[int] = ..., org_token: _Optional[_Union[TokenInfo, _Mapping]] = ..., pegged_chain_id: _Optional[int] = ..., pegged_token: _Optional[_Union[TokenInfo, _Mapping]] = ..., pegged_deposit_contract_addr: _Optional[str] = ..., pegged_burn_contract_addr: _Optional[str] = ..., canonical_token_contract_addr: _Optional[str] = ..., vault_version: _Optional[int] = ..., bridge_version: _Optional[int] = ...) -> None: ...

class BlockedBridgeDirect(_message.Message):
    __slots__ = ("symbol", "src_chain_id", "dst_chain_id")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    SRC_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    DST_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    src_chain_id: int
    dst_chain_id: int
    def __init__(self, symbol: _Optional[str] = ..., src_chain_id: _Optional[int] = ..., dst_chain_id: _Optional[int] = ...) -> None: ...

class TransferInfo(_message.Message):
    __slots__ = ("chain", "token", "amount")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    chain: Chain
    token: Token
    amount: str
    def __init__(self, chain: _Optional[_Union[Chain, _Mapping]] = ..., token: _Optional[_Union[Token, _Mapping]] = ..., amount: _Optional[str] = ...) -> None: ...

class TransferHistory(_message.Message):
    __slots__ = ("transfer_id", "src_send_info", "dst_received_info", "ts", "src_block_tx_link", "dst_block_tx_link", "status", "refund_reason", "update_ts", "bridge_type")
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    SRC_SEND_INFO_FIELD_NUMBER: _ClassVar[int]
    DST_RECEIVED_INFO_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    SRC_BLOCK_TX_LINK_FIELD_NUMBER: _ClassVar[int]
    DST_BLOCK_TX_LINK_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REFUND_REASON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TS_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    transfer_id: str
    src_send_info: TransferInfo
    dst_received_info: TransferInfo
    ts: int
    src_block_tx_link: str
    dst_block_tx_link: str
    status: TransferHistoryStatus
    refund_reason: XferStatus
    update_ts: int
    bridge_type: BridgeType
    def __init__(self, transfer_id: _Optional[str] = ..., src_send_info: _Optional[_Union[TransferInfo, _Mapping]] = ..., dst_received_info: _Optional[_Union[TransferInfo, _Mapping]] = ..., ts: _Optional[int] = ..., src_block_tx_link: _Optional[str] = ..., dst_block_tx_link: _Optional[str] = ..., status: _Optional[_Union[TransferHistoryStatus, str]] = ..., refund_reason: _Optional[_Union[XferStatus, str]] = ..., update_ts: _Optional[int] = ..., bridge_type: _Optional[_Union[BridgeType, str]] = ...) -> None: ...
