// node run.mjs CLIENT BASE < questions.json > answers.json
import { text } from "node:stream/consumers";
import { askAll as withConnect } from "./connect.mjs";
import official from "./official.cjs";

const CLIENTS = {
  "official-text": (base, questions) => official.askAll(base, questions, "text"),
  "official-binary": (base, questions) => official.askAll(base, questions, "binary"),
  connect: withConnect,
};

const [, , client, base] = process.argv;
const questions = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(await CLIENTS[client](base, questions)));
