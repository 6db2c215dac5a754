from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

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
