// Calls with an independent client: Connect's gRPC-Web transport over fetch, in Node and in browsers alike.
import { toJson } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { Web } from "./generated/gateway_pb.js";

const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const SHAPE = { useProtoFieldName: true, alwaysEmitImplicit: true, enumAsInteger: true };

async function send(client, { method, fields, timeout }) {
  const request = Object.fromEntries(Object.entries(fields).map(([name, value]) => [camel(name), value]));
  const seen = { calls: 1 };
  const note = (headers) => (seen.reason ??= headers.get("x-gateway-reason") ?? undefined);
  try {
    const response = await client[method](request, { timeoutMs: timeout, onHeader: note, onTrailer: note });
    seen.answer = toJson(Web.method[method].output, response, SHAPE);
  } catch (caught) {
    const error = ConnectError.from(caught);
    seen.error = { code: error.code, message: error.rawMessage };
    note(error.metadata);
  }
  return seen;
}

export async function callAll(base, calls) {
  const client = createClient(Web, createGrpcWebTransport({ baseUrl: base }));
  return Promise.all(calls.map((each) => send(client, each)));
}
