// Compiles src/ into dist/ before this folder is packed: dist/esm for import, dist/cjs for require. Its own packages are
// fetched first if they are not there. With `check` it only looks whether that was done: nothing is compiled at install.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const compiler = `${cwd}node_modules/typescript/bin/tsc`;
const options = { cwd, stdio: "inherit" };
if (process.argv[2] === "check") {
  if (existsSync(`${cwd}dist`)) process.exit();
  console.error("The library is not built: run `make client-packages`, and install the tarball in build/clients.");
  process.exit(1);
}
if (!existsSync(compiler)) {
  const shell = process.platform === "win32";
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { ...options, shell });
}
const licence = `${cwd}../../LICENSE`;
if (existsSync(licence)) cpSync(licence, `${cwd}LICENSE`);
rmSync(`${cwd}dist`, { recursive: true, force: true });
for (const [name, type] of [["esm", "module"], ["cjs", "commonjs"]]) {
  // The package file beside a source decides which kind of module the compiler makes of it.
  const folder = `${cwd}dist/${name}`;
  cpSync(`${cwd}src`, folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`);
  const compilerOptions = { rootDir: ".", outDir: "." };
  const config = { extends: "../../tsconfig.build.json", compilerOptions, include: ["*.ts"], exclude: [] };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  execFileSync(process.execPath, [compiler, "--project", `dist/${name}`], options);
  for (const file of readdirSync(folder)) {
    const isSource = file.endsWith(".ts") && !file.endsWith(".d.ts");
    if (isSource || file === "tsconfig.json") rmSync(`${folder}/${file}`);
  }
}
