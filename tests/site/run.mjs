// Runs snippets of TypeScript one after the other and prints what each of them printed, or its error.
// node run.mjs FOLDER < {"name": "code", …}; FOLDER has the package typescript.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

const folder = process.argv[2];
const ts = createRequire(join(folder, "package.json"))("typescript");
const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
const workshop = mkdtempSync(join(folder, "snippets-"));

// A wallet that agrees to everything.
globalThis.ethereum = {
  request: async ({ method }) => (method === "eth_sendTransaction" ? `0x${"ab".repeat(32)}` : "0x"),
};

// As browsers have it, as far as snippets use it: events of a name, until it is closed.
globalThis.EventSource ??= class extends EventTarget {
  #closed = new AbortController();

  constructor(url) {
    super();
    this.#read(url).catch((error) => this.#closed.signal.aborted || console.log(String(error)));
  }

  async #read(url) {
    const response = await fetch(url, { signal: this.#closed.signal });
    let name = "message";
    let text = "";
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + part).split("\n");
      text = lines.pop();
      for (const line of lines) {
        if (line.startsWith("event: ")) {
          name = line.slice(7);
        } else if (line.startsWith("data: ")) {
          this.dispatchEvent(new MessageEvent(name, { data: line.slice(6) }));
        }
      }
    }
  }

  close() {
    this.#closed.abort();
  }
};

const printed = {};
let lines = [];
const log = console.log;
console.log = (...values) => lines.push(format(...values));
for (const [name, code] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const file = join(workshop, `${Object.keys(printed).length}.mjs`);
  writeFileSync(file, ts.transpileModule(code, { compilerOptions: options }).outputText);
  lines = [];
  try {
    await import(pathToFileURL(file));
  } catch (error) {
    lines.push(String(error));
  }
  printed[name] = lines.join("\n");
}
log(JSON.stringify(printed));
