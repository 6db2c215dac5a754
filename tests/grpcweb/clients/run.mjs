// node run.mjs CLIENT BASE < calls.json > answers.json
import { text } from "node:stream/consumers";
import { callAll as withConnect } from "./connect.mjs";
import official from "./official.cjs";

const CLIENTS = {
  "official-text": (base, calls) => official.callAll(base, calls, "text"),
  "official-binary": (base, calls) => official.callAll(base, calls, "binary"),
  connect: withConnect,
};

const [, , client, base] = process.argv;
const calls = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(await CLIENTS[client](base, calls)));
