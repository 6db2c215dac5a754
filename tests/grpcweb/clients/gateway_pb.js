// The messages of proto/gateway.proto that the tests use, with the API that protoc-gen-js gives them.
// Written by hand: that generator is a program to download, which tests cannot count on.
"use strict";

const jspb = require("google-protobuf");

// Field number, name, and type: a scalar's name or a message class; [type] is repeated, {type} a map by uint32.
const MESSAGES = {};

function message(name, fields) {
  const repeated = fields.filter(([, , type]) => Array.isArray(type)).map(([number]) => number);

  class Generated extends jspb.Message {
    constructor(data) {
      super();
      jspb.Message.initialize(this, data, 0, -1, repeated, null);
    }

    serializeBinary() {
      const writer = new jspb.BinaryWriter();
      for (const field of fields) write(this, writer, field);
      return writer.getResultBuffer();
    }

    static deserializeBinary(bytes) {
      return Generated.deserializeBinaryFromReader(new Generated(), new jspb.BinaryReader(bytes));
    }

    static deserializeBinaryFromReader(self, reader) {
      while (reader.nextField() && !reader.isEndGroup()) {
        const field = fields.find(([number]) => number === reader.getFieldNumber());
        if (field) read(self, reader, field);
        else reader.skipField();
      }
      return self;
    }

    // Every field by its proto name, as the gateway's JSON has it.
    toObject() {
      return Object.fromEntries(fields.map((field) => [field[1], plain(this, field)]));
    }
  }
  for (const field of fields) accessors(Generated.prototype, field);
  MESSAGES[name] = Generated;
  return Generated;
}

const isMessage = (type) => typeof type === "function";
const SCALARS = {
  string: { zero: "", method: "String" },
  bool: { zero: false, method: "Bool" },
  uint32: { zero: 0, method: "Uint32" },
  int32: { zero: 0, method: "Int32" },
  uint64: { zero: 0, method: "Uint64" },
  enum: { zero: 0, method: "Enum" },
  float: { zero: 0, method: "Float" },
  double: { zero: 0, method: "Double" },
  bytes: { zero: "", method: "Bytes" },
};

function accessors(prototype, [number, name, type]) {
  const suffix = name.replace(/(^|_)(.)/g, (_, __, letter) => letter.toUpperCase());
  if (Array.isArray(type)) {
    prototype[`get${suffix}List`] = function () {
      return isMessage(type[0])
        ? jspb.Message.getRepeatedWrapperField(this, type[0], number)
        : jspb.Message.getRepeatedField(this, number);
    };
    prototype[`set${suffix}List`] = function (values) {
      jspb.Message.setField(this, number, values);
      return this;
    };
  } else if (isMessage(type.of)) {
    prototype[`get${suffix}Map`] = function () {
      return jspb.Message.getMapField(this, number, false, type.of);
    };
  } else if (isMessage(type)) {
    prototype[`get${suffix}`] = function () {
      return jspb.Message.getWrapperField(this, type, number);
    };
  } else {
    prototype[`get${suffix}`] = function () {
      return jspb.Message.getFieldWithDefault(this, number, SCALARS[type].zero);
    };
    prototype[`set${suffix}`] = function (value) {
      jspb.Message.setField(this, number, value);
      return this;
    };
  }
}

function write(self, writer, [number, , type]) {
  if (Array.isArray(type)) {
    const values = jspb.Message.getRepeatedField(self, number);
    if (values.length) writer[`writeRepeated${SCALARS[type[0]].method}`](number, values);
    return;
  }
  const value = jspb.Message.getField(self, number);
  if (value !== null && value !== undefined && value !== SCALARS[type].zero) {
    writer[`write${SCALARS[type].method}`](number, value);
  }
}

function read(self, reader, [number, , type]) {
  if (isMessage(type.of)) {
    const map = jspb.Message.getMapField(self, number, false, type.of);
    reader.readMessage(map, (target, from) => {
      jspb.Map.deserializeBinary(
        target, from, jspb.BinaryReader.prototype.readUint32, jspb.BinaryReader.prototype.readMessage,
        type.of.deserializeBinaryFromReader, 0, new type.of(),
      );
    });
    return;
  }
  const one = Array.isArray(type) ? type[0] : type;
  let value;
  if (isMessage(one)) {
    value = new one();
    reader.readMessage(value, one.deserializeBinaryFromReader);
  } else {
    value = reader[`read${SCALARS[one].method}`]();
  }
  if (!Array.isArray(type)) {
    (isMessage(one) ? jspb.Message.setWrapperField : jspb.Message.setField)(self, number, value);
  } else if (isMessage(one)) {
    jspb.Message.addToRepeatedWrapperField(self, number, value, one);
  } else {
    jspb.Message.addToRepeatedField(self, number, value);
  }
}

function plain(self, [number, name, type]) {
  if (isMessage(type.of)) {
    const entries = jspb.Message.getMapField(self, number, false, type.of).toArray
      ? [...jspb.Message.getMapField(self, number, false, type.of).entries()]
      : [];
    return Object.fromEntries(entries.map(([key, value]) => [String(key), value.toObject()]));
  }
  const one = Array.isArray(type) ? type[0] : type;
  const shown = (value) => (isMessage(one) ? value.toObject() : one === "bytes" ? base64(value) : value);
  if (Array.isArray(type)) {
    const values = isMessage(one)
      ? jspb.Message.getRepeatedWrapperField(self, one, number)
      : jspb.Message.getRepeatedField(self, number);
    return values.map(shown);
  }
  if (isMessage(one)) {
    const value = jspb.Message.getWrapperField(self, one, number);
    return value ? value.toObject() : null;
  }
  return shown(jspb.Message.getFieldWithDefault(self, number, SCALARS[one].zero));
}

const base64 = (value) => (typeof value === "string" ? value : Buffer.from(value).toString("base64"));

const ErrMsg = message("ErrMsg", [[1, "code", "enum"], [2, "msg", "string"]]);
const Token = message("Token", [
  [1, "symbol", "string"], [2, "address", "string"], [3, "decimal", "int32"], [4, "xfer_disabled", "bool"],
]);
const TokenInfo = message("TokenInfo", [
  [1, "token", Token], [2, "name", "string"], [3, "icon", "string"], [4, "inbound_lmt", "string"],
  [5, "inbound_epoch_cap", "string"], [6, "transfer_disabled", "bool"],
]);
const ChainTokenInfo = message("ChainTokenInfo", [[1, "token", [TokenInfo]]]);
const Chain = message("Chain", [
  [1, "id", "uint32"], [2, "name", "string"], [3, "icon", "string"], [4, "block_delay", "uint32"],
  [5, "gas_token_symbol", "string"], [6, "explore_url", "string"], [8, "contract_addr", "string"],
  [9, "drop_gas_amt", "string"], [10, "suggested_base_fee", "double"], [11, "drop_gas_cost_amt", "string"],
  [12, "drop_gas_balance_alert", "string"], [13, "suggested_gas_cost", "uint64"],
]);
const PeggedPairConfig = message("PeggedPairConfig", [
  [1, "org_chain_id", "uint32"], [2, "org_token", TokenInfo], [3, "pegged_chain_id", "uint32"],
  [4, "pegged_token", TokenInfo], [5, "pegged_deposit_contract_addr", "string"],
  [6, "pegged_burn_contract_addr", "string"], [7, "canonical_token_contract_addr", "string"],
  [8, "vault_version", "uint32"], [9, "bridge_version", "uint32"],
]);
const BlockedBridgeDirect = message("BlockedBridgeDirect", [
  [1, "symbol", "string"], [2, "src_chain_id", "uint64"], [3, "dst_chain_id", "uint64"],
]);

message("EstimateAmtRequest", [
  [1, "src_chain_id", "uint32"], [2, "dst_chain_id", "uint32"], [3, "token_symbol", "string"],
  [4, "amt", "string"], [5, "usr_addr", "string"], [6, "slippage_tolerance", "uint32"],
  [7, "is_pegged", "bool"],
]);
message("EstimateAmtResponse", [
  [1, "err", ErrMsg], [2, "eq_value_token_amt", "string"], [3, "bridge_rate", "float"],
  [4, "perc_fee", "string"], [5, "slippage_tolerance", "uint32"], [6, "max_slippage", "uint32"],
  [7, "base_fee", "string"], [8, "estimated_receive_amt", "string"], [9, "drop_gas_amt", "string"],
]);
message("GetTransferStatusRequest", [[1, "transfer_id", "string"]]);
message("GetTransferStatusResponse", [
  [1, "err", ErrMsg], [2, "status", "enum"], [3, "wd_onchain", "bytes"], [4, "sorted_sigs", ["bytes"]],
  [5, "signers", ["bytes"]], [6, "powers", ["bytes"]], [7, "refund_reason", "enum"],
  [8, "block_delay", "uint32"], [9, "src_block_tx_link", "string"], [10, "dst_block_tx_link", "string"],
  [11, "bridge_type", "enum"],
]);
message("GetLatest7DayTransferLatencyForQueryRequest", [
  [1, "src_chain_id", "uint64"], [2, "dst_chain_id", "uint64"],
]);
message("GetLatest7DayTransferLatencyForQueryResponse", [
  [1, "err", ErrMsg], [2, "median_transfer_latency_in_second", "double"],
]);
message("GetTransferConfigsRequest", []);
message("GetTransferConfigsResponse", [
  [1, "err", ErrMsg], [2, "chains", [Chain]], [3, "chain_token", { of: ChainTokenInfo }],
  [4, "farming_reward_contract_addr", "string"], [5, "pegged_pair_configs", [PeggedPairConfig]],
  [6, "blocked_bridge_direct", [BlockedBridgeDirect]],
]);
message("GetTokenInfoRequest", [[1, "chain_id", "uint32"], [2, "token_symbol", "string"]]);
message("GetTokenInfoResponse", [[1, "err", ErrMsg], [2, "token_info", TokenInfo]]);
const TransferInfo = message("TransferInfo", [[1, "chain", Chain], [2, "token", Token], [3, "amount", "string"]]);
const TransferHistory = message("TransferHistory", [
  [1, "transfer_id", "string"], [2, "src_send_info", TransferInfo], [3, "dst_received_info", TransferInfo],
  [4, "ts", "uint64"], [5, "src_block_tx_link", "string"], [6, "dst_block_tx_link", "string"],
  [7, "status", "enum"], [8, "refund_reason", "enum"], [9, "update_ts", "uint64"],
  [10, "bridge_type", "enum"],
]);
message("TransferHistoryRequest", [
  [1, "next_page_token", "string"], [2, "page_size", "uint64"], [3, "addr", "string"],
  [4, "acct_addr", ["string"]],
]);
message("TransferHistoryResponse", [
  [1, "err", ErrMsg], [2, "history", [TransferHistory]], [3, "next_page_token", "string"],
  [4, "current_size", "uint64"],
]);

module.exports = MESSAGES;
