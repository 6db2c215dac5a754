// The chain of `make bench ONLY=watch`. Everything that differs between runs comes by the environment.
import { createConfig } from "ponder";
import { parseAbi, type Address } from "viem";

const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

const pool = parseAbi([
  "event Send(bytes32 transferId, address sender, address receiver, address token, uint256 amount, uint64 dstChainId, uint64 nonce, uint32 maxSlippage)",
  "event Relay(bytes32 transferId, address sender, address receiver, address token, uint256 amount, uint64 srcChainId, bytes32 srcTransferId)",
  "event LiquidityAdded(uint64 seqnum, address provider, address token, uint256 amount)",
  "event WithdrawDone(bytes32 withdrawId, uint64 seqnum, address receiver, address token, uint256 amount, bytes32 refid)",
]);
const vault = parseAbi([
  "event Deposited(bytes32 depositId, address depositor, address token, uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)",
  "event Withdrawn(bytes32 withdrawId, address receiver, address token, uint256 amount, uint64 refChainId, bytes32 refId, address burnAccount)",
]);
const bridge = parseAbi([
  "event Mint(bytes32 mintId, address token, address account, uint256 amount, uint64 refChainId, bytes32 refId, address depositor)",
  "event Burn(bytes32 burnId, address token, address account, uint256 amount, uint64 toChainId, address toAccount, uint64 nonce)",
]);

const range = {
  chain: "watched",
  startBlock: Number(env("BENCH_FIRST_BLOCK")),
  endBlock: Number(env("BENCH_LAST_BLOCK")),
} as const;

export default createConfig({
  database: { kind: "postgres", connectionString: env("BENCH_DATABASE_URL") },
  chains: { watched: { id: 56, rpc: env("BENCH_RPC_URL") } },
  contracts: {
    Pool: { ...range, abi: pool, address: env("BENCH_POOL") as Address },
    Vault: { ...range, abi: vault, address: env("BENCH_VAULT") as Address },
    Bridge: { ...range, abi: bridge, address: env("BENCH_BRIDGE") as Address },
  },
});
