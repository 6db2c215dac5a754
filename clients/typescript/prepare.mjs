// Compiles src/ into dist/ where this folder is installed. Its own packages are fetched first if they are not there.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const compiler = `${cwd}node_modules/typescript/bin/tsc`;
const options = { cwd, stdio: "inherit" };
if (!existsSync(compiler)) {
  const shell = process.platform === "win32";
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { ...options, shell });
}
execFileSync(process.execPath, [compiler, "--project", "tsconfig.build.json"], options);
