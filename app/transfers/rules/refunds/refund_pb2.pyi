from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WithdrawType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REMOVE_LIQUIDITY: _ClassVar[WithdrawType]
    REFUND_TRANSFER: _ClassVar[WithdrawType]
    CLAIM_FEE_SHARE: _ClassVar[WithdrawType]
    VALIDATOR_FEE_SHARE: _ClassVar[WithdrawType]
REMOVE_LIQUIDITY: WithdrawType
REFUND_TRANSFER: WithdrawType
CLAIM_FEE_SHARE: WithdrawType
VALIDATOR_FEE_SHARE: WithdrawType

class WithdrawMsg(_message.Message):
    __slots__ = ("chainid", "seqnum", "receiver", "token", "amount", "refid")
    CHAINID_FIELD_NUMBER: _ClassVar[int]
    SEQNUM_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    REFID_FIELD_NUMBER: _ClassVar[int]
    chainid: int
    seqnum: int
    receiver: bytes
    token: bytes
    amount: bytes
    refid: bytes
    def __init__(self, chainid: _Optional[int] = ..., seqnum: _Optional[int] = ..., receiver: _Optional[bytes] = ..., token: _Optional[bytes] = ..., amount: _Optional[bytes] = ..., refid: _Optional[bytes] = ...) -> None: ...

class Withdraw(_message.Message):
    __slots__ = ("token", "receiver", "amount", "burn_account", "ref_chain_id", "ref_id")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    BURN_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    REF_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REF_ID_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    receiver: bytes
    amount: bytes
    burn_account: bytes
    ref_chain_id: int
    ref_id: bytes
    def __init__(self, token: _Optional[bytes] = ..., receiver: _Optional[bytes] = ..., amount: _Optional[bytes] = ..., burn_account: _Optional[bytes] = ..., ref_chain_id: _Optional[int] = ..., ref_id: _Optional[bytes] = ...) -> None: ...

class Mint(_message.Message):
    __slots__ = ("token", "account", "amount", "depositor", "ref_chain_id", "ref_id")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    DEPOSITOR_FIELD_NUMBER: _ClassVar[int]
    REF_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REF_ID_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    account: bytes
    amount: bytes
    depositor: bytes
    ref_chain_id: int
    ref_id: bytes
    def __init__(self, token: _Optional[bytes] = ..., account: _Optional[bytes] = ..., amount: _Optional[bytes] = ..., depositor: _Optional[bytes] = ..., ref_chain_id: _Optional[int] = ..., ref_id: _Optional[bytes] = ...) -> None: ...

class WithdrawReq(_message.Message):
    __slots__ = ("xfer_id", "withdraws", "exit_chain_id", "req_id", "withdraw_type")
    XFER_ID_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWS_FIELD_NUMBER: _ClassVar[int]
    EXIT_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQ_ID_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_TYPE_FIELD_NUMBER: _ClassVar[int]
    xfer_id: str
    withdraws: _containers.RepeatedCompositeFieldContainer[WithdrawFrom]
    exit_chain_id: int
    req_id: int
    withdraw_type: WithdrawType
    def __init__(self, xfer_id: _Optional[str] = ..., withdraws: _Optional[_Iterable[_Union[WithdrawFrom, _Mapping]]] = ..., exit_chain_id: _Optional[int] = ..., req_id: _Optional[int] = ..., withdraw_type: _Optional[_Union[WithdrawType, str]] = ...) -> None: ...

class WithdrawFrom(_message.Message):
    __slots__ = ("from_chain_id", "token_addr", "ratio", "max_slippage")
    FROM_CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ADDR_FIELD_NUMBER: _ClassVar[int]
    RATIO_FIELD_NUMBER: _ClassVar[int]
    MAX_SLIPPAGE_FIELD_NUMBER: _ClassVar[int]
    from_chain_id: int
    token_addr: str
    ratio: int
    max_slippage: int
    def __init__(self, from_chain_id: _Optional[int] = ..., token_addr: _Optional[str] = ..., ratio: _Optional[int] = ..., max_slippage: _Optional[int] = ...) -> None: ...
