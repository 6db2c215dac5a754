// Prints bridges.json: what Bridges.sol compiles to. Run by `make contracts`.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");

const source = fs.readFileSync(path.join(__dirname, "Bridges.sol"), "utf8");
const settings = {
  evmVersion: "shanghai",
  optimizer: { enabled: true, runs: 200 },
  // Nothing in the code that depends on anything but the source's meaning.
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object"] } },
};
const input = { language: "Solidity", sources: { "Bridges.sol": { content: source } }, settings };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const error of output.errors ?? []) process.stderr.write(`${error.formattedMessage}\n`);
if (!output.contracts || (output.errors ?? []).length) process.exit(1);

const contracts = {};
for (const name of ["PoolBridge", "TokenVault", "PeggedBridge"]) {
  const compiled = output.contracts["Bridges.sol"][name];
  contracts[name] = { abi: compiled.abi, code: `0x${compiled.evm.deployedBytecode.object}` };
}
const made = {
  source: `sha256:${crypto.createHash("sha256").update(source).digest("hex")}`,
  compiler: solc.version(),
  evmVersion: settings.evmVersion,
  contracts,
};
process.stdout.write(`${JSON.stringify(made, null, 1)}\n`);
