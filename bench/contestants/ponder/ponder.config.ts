// What bench/watching/others.py says in the environment: contracts, blocks, the node and the database.
import { createConfig } from "ponder";

const given = JSON.parse(process.env.CONTEST ?? "{}");

export default createConfig({
  ordering: "multichain",
  database: { kind: "postgres", connectionString: process.env.DATABASE_URL },
  chains: { bench: { id: given.chain, rpc: given.rpc } },
  contracts: {
    Bridges: {
      chain: "bench",
      abi: given.abi,
      address: given.addresses,
      startBlock: given.first,
      endBlock: given.last,
    },
  },
});
