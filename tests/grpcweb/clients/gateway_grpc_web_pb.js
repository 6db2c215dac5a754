// The service's clients with the API that protoc-gen-grpc-web gives them; see gateway_pb.js.
"use strict";

const { GrpcWebClientBase, MethodDescriptor, MethodType } = require("grpc-web");
const messages = require("./gateway_pb.js");

const METHODS = {
  estimateAmt: ["EstimateAmt", "EstimateAmt"],
  getTransferStatus: ["GetTransferStatus", "GetTransferStatus"],
  getLatest7DayTransferLatencyForQuery: [
    "GetLatest7DayTransferLatencyForQuery", "GetLatest7DayTransferLatencyForQuery",
  ],
  getTransferConfigs: ["GetTransferConfigs", "GetTransferConfigs"],
  getTransferConfigsForAll: ["GetTransferConfigsForAll", "GetTransferConfigs"],
  getTokenInfo: ["GetTokenInfo", "GetTokenInfo"],
  transferHistory: ["TransferHistory", "TransferHistory"],
};

class WebClient {
  // As of the generators up to 1.3: a slash at the end of the address is kept, and doubles.
  constructor(hostname, credentials, options) {
    this.hostname = hostname;
    this.client = new GrpcWebClientBase({ format: "text", ...options });
  }
}

class WebPromiseClient extends WebClient {}

for (const [name, [method, message]] of Object.entries(METHODS)) {
  const descriptor = new MethodDescriptor(
    `/sgn.gateway.v1.Web/${method}`,
    MethodType.UNARY,
    messages[`${message}Request`],
    messages[`${message}Response`],
    (request) => request.serializeBinary(),
    messages[`${message}Response`].deserializeBinary,
  );
  WebClient.prototype[name] = function (request, metadata, callback) {
    return this.client.rpcCall(
      `${this.hostname}/sgn.gateway.v1.Web/${method}`, request, metadata || {}, descriptor, callback,
    );
  };
  WebPromiseClient.prototype[name] = function (request, metadata, options) {
    return this.client.unaryCall(
      `${this.hostname}/sgn.gateway.v1.Web/${method}`, request, metadata || {}, descriptor, options || {},
    );
  };
}

module.exports = { ...messages, WebClient, WebPromiseClient };
