// Calls with the official client, as generated: `grpc-web` with `google-protobuf`.
"use strict";

const { WebClient, ...messages } = require("./gateway_grpc_web_pb.js");

const setter = (name) => "set" + name.replace(/(^|_)(.)/g, (_, __, letter) => letter.toUpperCase());

function send(client, { method, message, fields, timeout }) {
  const request = new messages[`${message}Request`]();
  for (const [name, value] of Object.entries(fields)) {
    request[setter(name) + (Array.isArray(value) ? "List" : "")](value);
  }
  const metadata = timeout ? { deadline: String(Date.now() + timeout) } : {};
  return new Promise((resolve) => {
    const seen = { calls: 0 };
    const call = client[method](request, metadata, (error, response) => {
      seen.calls += 1;
      if (error) seen.error = { code: error.code, message: error.message };
      else seen.answer = response.toObject();
    });
    const note = (headers) => (seen.reason ??= headers?.["x-gateway-reason"]);
    call.on("metadata", note);
    call.on("status", (status) => note(status.metadata));
    call.on("error", (error) => note(error.metadata));
    setTimeout(() => resolve(seen), 30_000).unref();
    const done = setInterval(() => {
      if (!seen.calls) return;
      clearInterval(done);
      setTimeout(() => resolve(seen), 50); // would see a second callback
    }, 5);
  });
}

exports.callAll = async function (base, calls, format) {
  globalThis.XMLHttpRequest = require("xhr2");
  const client = new WebClient(base, null, { format });
  return Promise.all(calls.map((each) => send(client, each)));
};
