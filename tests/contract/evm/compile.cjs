// Prints bridges.json: what the contracts of this folder compile to. Run by `make contracts`.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");

const settings = {
  evmVersion: "shanghai",
  optimizer: { enabled: true, runs: 200 },
  // Nothing in the code that depends on anything but the source's meaning.
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object"] } },
};
const DEPLOYED = {
  "Bridges.sol": ["PoolBridge", "TokenVaultV1", "TokenVaultV2", "PeggedBridgeV1", "PeggedBridgeV2"],
  "Tokens.sol": ["Token", "WrappedCoin", "CappedToken", "NoCoin"],
};
const hash = crypto.createHash("sha256");
const sources = {};
for (const name of fs.readdirSync(__dirname).filter((each) => each.endsWith(".sol")).sort()) {
  const content = fs.readFileSync(path.join(__dirname, name), "utf8");
  hash.update(content);
  sources[name] = { content };
}
const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
for (const error of output.errors ?? []) process.stderr.write(`${error.formattedMessage}\n`);
if (!output.contracts || (output.errors ?? []).length) process.exit(1);

const contracts = {};
for (const [file, names] of Object.entries(DEPLOYED)) {
  for (const name of names) {
    const compiled = output.contracts[file][name];
    contracts[name] = { abi: compiled.abi, code: `0x${compiled.evm.deployedBytecode.object}` };
  }
}
const made = {
  sources: `sha256:${hash.digest("hex")}`,
  compiler: solc.version(),
  evmVersion: settings.evmVersion,
  contracts,
};
process.stdout.write(`${JSON.stringify(made, null, 1)}\n`);
