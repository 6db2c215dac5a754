// Which ways there are, and what a wallet sends to go one: contract, function and arguments.
import type { ConfigsAnswer, EstimateAnswer } from "./gateway.js";
import type { Hex, Shapes } from "./shapes.js";

const MILLION = 1_000_000n;
const SECOND_VERSION = 2;

/** The gateway does not offer what was looked for. */
export class NoWay extends Error {
  override name = "NoWay";
}

/** The contract would not take the send: ask the user for a larger tolerance, then estimate again. */
export class SlippageTooLow extends Error {
  override name = "SlippageTooLow";
}

/**
 * One token from one chain to another. `contract` takes the funds on the source chain; `token` and `decimal` are those
 * of the source chain. `version` is the contract's; `toChain` is what a burn names, 0 for the original chain.
 */
export interface Way {
  kind: "pool" | "deposit" | "burn";
  symbol: string;
  srcChainId: number;
  dstChainId: number;
  contract: string;
  token: string;
  decimal: number;
  version: number;
  toChain: number;
  /** What an estimate of this way is asked with. */
  isPegged: boolean;
}

/**
 * A transaction that begins a transfer. `contract` must be allowed to take `amount` of `token` first. A send of native
 * coin has it as its `value` instead. `minimumReceived` is in the destination token's smallest unit: show it before the
 * user signs.
 */
export interface Send {
  way: Way;
  chainId: number;
  contract: string;
  token: string;
  amount: bigint;
  receiver: string;
  nonce: bigint;
  maxSlippage: number;
  function: string;
  signature: string;
  arguments: (string | bigint | number)[];
  minimumReceived: bigint;
  value: bigint;
}

/** A `Send` as it is made here. Solidity's functions are called on chains whose contracts and tokens are hex. */
export interface MadeSend extends Send {
  contract: Hex;
  token: Hex;
}

/** Every way that the gateway offers, pegged ones first. */
export function* ways(configs: ConfigsAnswer): Generator<Way> {
  const working = configs.pegged_pair_configs.filter(
    (pair) => !pair.org_token.token.xfer_disabled && !pair.pegged_token.token.xfer_disabled,
  );
  for (const pair of working) {
    yield deposit(pair);
    yield burn(pair, pair.org_chain_id, 0);
  }
  const second = working.filter((pair) => pair.bridge_version === SECOND_VERSION);
  for (const [one, other] of permutations(second)) {
    const same = symbolOf(one) === symbolOf(other) && one.org_chain_id === other.org_chain_id;
    if (same && one.pegged_chain_id !== other.pegged_chain_id) {
      yield burn(one, other.pegged_chain_id, other.pegged_chain_id);
    }
  }
  yield* poolWays(configs);
}

/** The way of a token between two chains, or `NoWay`; where there are two, the pegged one, as the gateway chooses. */
export function findWay(
  configs: ConfigsAnswer,
  symbol: string,
  srcChainId: number,
  dstChainId: number,
  isPegged?: boolean,
): Way {
  for (const way of ways(configs)) {
    const same = way.symbol === symbol && way.srcChainId === srcChainId && way.dstChainId === dstChainId;
    if (same && (isPegged === undefined || isPegged === way.isPegged)) return way;
  }
  throw new NoWay(`no way of ${symbol} from chain ${srcChainId} to ${dstChainId}`);
}

export interface SendOptions {
  amount: bigint;
  receiver: string;
  /** Makes the transfer id unique; milliseconds of now where it is left out. */
  nonce?: bigint;
  /** The pool bridge's own `minimalMaxSlippage`, read from it. */
  minimalMaxSlippage?: number;
  /**
   * Send the chain's own coin, which the contract wraps: the token of the way must be the wrapped one (`nativeWrap` of
   * "transfer-gateway-client/evm"). A burn takes none: `NoWay`.
   */
  native?: boolean;
}

/** The transaction that sends `amount` this way, by an estimate made just before. */
export function sendArguments(way: Way, estimate: EstimateAnswer, options: SendOptions): MadeSend {
  const { amount, receiver, nonce = BigInt(Date.now()), minimalMaxSlippage = 0, native = false } = options;
  if (native && way.kind === "burn") throw new NoWay("a burn takes no native coin");
  const maxSlippage = estimate.max_slippage;
  if (way.kind === "pool" && maxSlippage <= minimalMaxSlippage) {
    throw new SlippageTooLow(`max_slippage is ${maxSlippage}, the contract takes more than ${minimalMaxSlippage}`);
  }
  const minimumReceived =
    way.kind === "pool"
      ? (BigInt(estimate.eq_value_token_amt) * (MILLION - BigInt(maxSlippage))) / MILLION
      : BigInt(estimate.estimated_receive_amt);
  const usual = called(way, amount, receiver, nonce, maxSlippage);
  const [signature, given] = native ? withoutToken(way, usual) : usual;
  return {
    way, chainId: way.srcChainId, contract: way.contract as Hex, token: way.token as Hex, amount, receiver, nonce,
    maxSlippage, function: signature.slice(0, signature.indexOf("(")), signature, arguments: given, minimumReceived,
    value: native ? amount : 0n,
  };
}

type Called = [signature: string, given: Send["arguments"]];

function called(way: Way, amount: bigint, receiver: string, nonce: bigint, slippage: number): Called {
  const { token } = way;
  if (way.kind === "pool") {
    const given = [receiver, token, amount, BigInt(way.dstChainId), nonce, slippage];
    return ["send(address,address,uint256,uint64,uint64,uint32)", given];
  }
  if (way.kind === "deposit") {
    const given = [token, amount, BigInt(way.dstChainId), receiver, nonce];
    return ["deposit(address,uint256,uint64,address,uint64)", given];
  }
  if (way.version === SECOND_VERSION) {
    return ["burn(address,uint256,uint64,address,uint64)", [token, amount, BigInt(way.toChain), receiver, nonce]];
  }
  return ["burn(address,uint256,address,uint64)", [token, amount, receiver, nonce]];
}

/** The same function for native coin: it has no token. */
function withoutToken(way: Way, [signature, given]: Called): Called {
  const place = way.kind === "pool" ? 1 : 0;
  const native = signature.replace("(", "Native(").replace("address,uint256", "uint256");
  return [native, given.filter((_, at) => at !== place)];
}

function symbolOf(pair: Shapes["PeggedPair"]): string {
  return pair.pegged_token.token.symbol;
}

function deposit(pair: Shapes["PeggedPair"]): Way {
  const { symbol, address: token, decimal } = pair.org_token.token;
  return {
    kind: "deposit", symbol, srcChainId: pair.org_chain_id, dstChainId: pair.pegged_chain_id,
    contract: pair.pegged_deposit_contract_addr, token, decimal, version: pair.vault_version, toChain: 0,
    isPegged: true,
  };
}

function burn(pair: Shapes["PeggedPair"], dstChainId: number, toChain: number): Way {
  const { symbol, address: token, decimal } = pair.pegged_token.token;
  return {
    kind: "burn", symbol, srcChainId: pair.pegged_chain_id, dstChainId,
    contract: pair.pegged_burn_contract_addr, token, decimal, version: pair.bridge_version, toChain, isPegged: true,
  };
}

function* poolWays(configs: ConfigsAnswer): Generator<Way> {
  const bridges = new Map(configs.chains.map((chain) => [chain.id, chain.contract_addr]));
  const places = new Map<string, Way[]>();
  for (const [chainId, listed] of Object.entries(configs.chain_token)) {
    for (const { token: info } of listed.token) {
      if (info.xfer_disabled) continue;
      const here = Number(chainId);
      const way: Way = {
        kind: "pool", symbol: info.symbol, srcChainId: here, dstChainId: here, contract: bridges.get(here) ?? "",
        token: info.address, decimal: info.decimal, version: SECOND_VERSION, toChain: 0, isPegged: false,
      };
      places.set(info.symbol, [...(places.get(info.symbol) ?? []), way]);
    }
  }
  const blocked = new Set(
    configs.blocked_bridge_direct.map((each) => `${each.src_chain_id} ${each.dst_chain_id} ${each.symbol}`),
  );
  for (const [symbol, chains] of places) {
    for (const [here, there] of permutations(chains)) {
      const dstChainId = there.srcChainId;
      if (!blocked.has(`${here.srcChainId} ${dstChainId} ${symbol}`)) yield { ...here, dstChainId };
    }
  }
}

/** Every two of them, in both orders. */
function* permutations<T>(all: T[]): Generator<[T, T]> {
  for (const [at, one] of all.entries()) {
    for (const [place, other] of all.entries()) if (at !== place) yield [one, other];
  }
}
