// Transfers and refunds on EVM chains, with viem: verify what a gateway answers, simulate the call, send it.
import {
  type Abi,
  type Account,
  type Address,
  type Hex,
  type PublicClient,
  type WalletClient,
  bytesToHex,
  concat,
  getAddress,
  hexToBytes,
  keccak256,
  numberToHex,
  parseAbi,
  recoverMessageAddress,
  stringToHex,
} from "viem";
import type { CallOptions } from "./calls.js";
import { type Clients, type ContractCall, same, simulateAndSend } from "./chains.js";
import type { ConfigsAnswer, Gateway } from "./gateway.js";
import type { Raw } from "./shapes.js";
import { type WaitOptions, waitUntil } from "./waiting.js";

export type { Clients } from "./chains.js";
export { type Quote, type QuoteOptions, QuoteError, QuoteExpired, SendRefused, getQuote } from "./quotes.js";
export { transferId } from "./transfer-ids.js";

const TO_BE_REFUNDED = 6;
const REQUESTING = 7;
const TO_BE_CONFIRMED = 8;
const BEFORE: number[] = [TO_BE_REFUNDED, REQUESTING];
/** A contract refuses signatures whose s is larger. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const ABI: Abi = parseAbi([
  "function withdraw(bytes request, bytes[] sigs, address[] signers, uint256[] powers)",
  "function mint(bytes request, bytes[] sigs, address[] signers, uint256[] powers)",
  "function executeDelayedTransfer(bytes32 id)",
  "function nativeWrap() view returns (address)",
]);

/** How a kind of send is paid back, and which field of its request (proto/refund.proto) says what. */
const KINDS = {
  pool: { function: "withdraw", text: "WithdrawMsg", chain: 1, receiver: 3, token: 4, amount: 5, reference: 6 },
  deposit: { function: "withdraw", text: "Withdraw", token: 1, receiver: 2, amount: 3, chain: 5, reference: 6 },
  burn: { function: "mint", text: "Mint", token: 1, receiver: 2, amount: 3, chain: 5, reference: 6 },
} as const;
type Kind = keyof typeof KINDS;

/** The evidence is not there, or does not prove what it says: do not send. */
export class EvidenceError extends Error {
  override name = "EvidenceError";
}

/** The contract would refuse the call now. The evidence stays valid: try again later. */
export class RefundRefused extends Error {
  override name = "RefundRefused";
}

/** A refund that is proven: what is paid to whom, and the call that has it paid. */
export interface Refund {
  kind: Kind;
  chainId: number;
  contract: Address;
  function: "withdraw" | "mint";
  arguments: readonly [Hex, readonly Hex[], readonly Address[], readonly bigint[]];
  receiver: Address;
  token: Address;
  amount: bigint;
}

/** What is read of an answer of `getRefundEvidence`, wherever it comes from. */
export type Evidence = Pick<
  Raw["EvidenceAnswer"],
  "chain_id" | "contract" | "kind" | "missing" | "signers" | "valid" | "wd_onchain"
>;

export interface VerifyOptions {
  /** Who must be paid. */
  receiver?: string;
  /** Further contracts of the bridge that are trusted beside those of the configs. */
  contracts?: readonly string[];
}

/**
 * Check the evidence without believing it, and make the call of it. What the request says is read from its own bytes,
 * and each signature is recovered. Whether the validators are those of the contract only the contract knows: simulate
 * the call. Throws `EvidenceError` with what is wrong.
 */
export async function verifyEvidence(
  evidence: Evidence,
  configs: ConfigsAnswer,
  transfer: string,
  { receiver, contracts = [] }: VerifyOptions = {},
): Promise<Refund> {
  const { kind, chain_id: chainId, contract } = evidence;
  if (!evidence.valid || kind === null || chainId === null || contract === null) {
    throw new EvidenceError(`there is nothing to claim: ${evidence.missing.join("; ")}`);
  }
  demand(known(configs, kind, chainId, contracts).has(contract.toLowerCase()), "its contract is not known");
  const how = KINDS[kind];
  const request = Uint8Array.from(atob(evidence.wd_onchain ?? ""), (each) => each.charCodeAt(0));
  const said = fields(request);
  const paid = address(said.get(how.receiver));
  demand(said.get(how.chain) === BigInt(chainId), "the request is for another chain");
  demand(hex(said.get(how.reference)) === transfer.toLowerCase(), "it is for another transfer");
  demand(receiver === undefined || same(paid, receiver), "it pays somebody else");
  const digest = digestOf(chainId, contract, how.text, request);
  const signers = evidence.signers.map(({ signature, ...each }) => {
    return { signature, address: getAddress(each.address), power: BigInt(each.power) };
  });
  demand(
    signers.every((each, at) => at === 0 || BigInt(each.address) > BigInt(signers[at - 1]?.address ?? 0)),
    "the validators are not in order",
  );
  for (const { address: who, signature } of signers) {
    if (signature !== null) demand(same(await recovered(digest, signature), who), `${who} has not signed it`);
  }
  const enough = fewest(signers);
  const sigs = signers.flatMap((each) => (enough.has(each.address) && each.signature ? [each.signature as Hex] : []));
  return {
    kind, chainId, contract: getAddress(contract), function: how.function,
    arguments: [bytesToHex(request), sigs, signers.map((each) => each.address), signers.map((each) => each.power)],
    receiver: paid, token: address(said.get(how.token)), amount: BigInt(hex(said.get(how.amount))),
  };
}

/** The token that the contract takes and pays as native coin; the zero address where it has none. */
export async function nativeWrap(publicClient: PublicClient, contract: string): Promise<Address> {
  const read = { address: getAddress(contract), abi: ABI, functionName: "nativeWrap" } as const;
  return getAddress(String(await publicClient.readContract(read)));
}

/** Whether a proven refund comes as native coin. What is minted never does. */
export async function paysNative(publicClient: PublicClient, refund: Refund): Promise<boolean> {
  return refund.function === "withdraw" && (await nativeWrap(publicClient, refund.contract)) === refund.token;
}

/**
 * Have a refund paid: ask for it at status 6, wait for 8, verify, simulate, send. Gives the transaction's hash.
 * Afterwards wait with `waitUntil` until the state is terminal: the transfer stays at 8 until the gateway has read that
 * transaction. The receiver must be the wallet's account where none is given. Throws `EvidenceError` where nothing can
 * be claimed, `RefundRefused` where the contract would refuse the call now.
 */
export async function claimRefund(
  gateway: Gateway,
  transfer: string,
  clients: Clients,
  options: VerifyOptions & WaitOptions = {},
): Promise<Hex> {
  const { signal } = options;
  let state = await gateway.status(transfer, { signal });
  if (state.status === TO_BE_REFUNDED) await gateway.askForRefund(transfer, { signal });
  if (BEFORE.includes(state.status)) {
    state = await waitUntil(gateway, transfer, ({ status }) => !BEFORE.includes(status), options);
  }
  demand(state.status === TO_BE_CONFIRMED, `there is nothing to claim at status ${state.status}`);
  const evidence = await gateway.evidence(transfer, { signal });
  const receiver = options.receiver ?? accountOf(clients.walletClient).address;
  const refund = await verifyEvidence(evidence, await gateway.configs({ signal }), transfer, { ...options, receiver });
  const reasons = evidence.may_refuse.map((each) => each.reason).join(", ");
  const call = { functionName: refund.function, args: refund.arguments } as const;
  return pay(clients, refund.chainId, refund.contract, call, reasons);
}

/** Have a large refund paid that waits in the contract's delay queue (at status 9), once its delay is over. */
export async function executeDelayed(
  gateway: Gateway,
  transfer: string,
  clients: Clients,
  { contracts = [], ...options }: VerifyOptions & CallOptions = {},
): Promise<Hex> {
  const { delayed, kind } = await gateway.evidence(transfer, options);
  if (delayed === null || delayed.funds !== "refund" || kind === null) {
    throw new EvidenceError("no refund waits in a delay queue");
  }
  const { delayed_id: id, chain_id: chainId, contract } = delayed;
  if (id === null || chainId === null || contract === null) {
    throw new EvidenceError("it is not known yet where the refund waits");
  }
  const listed = known(await gateway.configs(options), kind, chainId, contracts);
  demand(listed.has(contract.toLowerCase()), "its contract is not known");
  const call = { functionName: "executeDelayedTransfer", args: [id] } as const;
  return pay(clients, chainId, getAddress(contract), call, "delay");
}

/** Send the call by which a refund is paid. `reasons` are those for which the contract may refuse it. */
function pay(
  clients: Clients,
  chainId: number,
  address: Address,
  call: Pick<ContractCall, "functionName" | "args">,
  reasons: string,
): Promise<Hex> {
  return simulateAndSend(clients, accountOf(clients.walletClient), { chainId, address, abi: ABI, ...call }, {
    what: "the refund is paid",
    wrong: EvidenceError,
    refused: RefundRefused,
    reasons,
  });
}

function accountOf(walletClient: WalletClient): Account {
  if (walletClient.account === undefined) throw new EvidenceError("the wallet client has no account");
  return walletClient.account;
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new EvidenceError(otherwise);
}

/** The contracts that the configs name for this kind of refund on this chain, and those that the caller trusts. */
function known(configs: ConfigsAnswer, kind: Kind, chainId: number, more: readonly string[]): Set<string> {
  const named = {
    pool: configs.chains.map((each) => [each.id, each.contract_addr] as const),
    deposit: configs.pegged_pair_configs.map((each) => [each.org_chain_id, each.pegged_deposit_contract_addr] as const),
    burn: configs.pegged_pair_configs.map((each) => [each.pegged_chain_id, each.pegged_burn_contract_addr] as const),
  };
  const here = named[kind].filter(([chain]) => chain === chainId).map(([, contract]) => contract);
  return new Set([...here, ...more].map((each) => each.toLowerCase()));
}

/** What is signed, before the prefix of EIP-191 (docs/interface/contracts.md#signatures). */
function digestOf(chainId: number, contract: string, text: string, request: Uint8Array): Hex {
  const domain = keccak256(concat([numberToHex(chainId, { size: 32 }), getAddress(contract), stringToHex(text)]));
  return keccak256(concat([domain, bytesToHex(request)]));
}

async function recovered(digest: Hex, signature: string): Promise<Address> {
  const raw = hexToBytes(signature as Hex);
  const good = raw.length === 65 && (raw[64] === 27 || raw[64] === 28);
  demand(good && BigInt(bytesToHex(raw.slice(32, 64))) <= HALF_ORDER, "a signature is malformed");
  return recoverMessageAddress({ message: { raw: digest }, signature: raw });
}

/** The fewest of those who signed that reach the quorum: each further signature costs gas. */
function fewest(signers: { address: Address; power: bigint; signature: string | null }[]): Set<Address> {
  const total = signers.reduce((sum, each) => sum + each.power, 0n);
  demand(total < 1n << 255n, "the powers add up to more than the contract can compute with");
  const quorum = (total * 2n) / 3n + 1n;
  const signed = signers.filter((each) => each.signature !== null);
  signed.sort((one, other) => (one.power === other.power ? 0 : one.power > other.power ? -1 : 1));
  const enough = new Set<Address>();
  let power = 0n;
  for (const each of signed) {
    if (power >= quorum) break;
    enough.add(each.address);
    power += each.power;
  }
  demand(power >= quorum, `power ${power} has signed, ${quorum} is needed`);
  return enough;
}

type Value = bigint | Uint8Array | undefined;

function hex(value: Value): Hex {
  return value instanceof Uint8Array ? bytesToHex(value) : "0x";
}

function address(value: Value): Address {
  demand(value instanceof Uint8Array && value.length === 20, "the request cannot be read");
  return getAddress(hex(value));
}

/** The fields of a protobuf message of numbers and bytes, each once and in ascending order. */
function fields(request: Uint8Array): Map<number, bigint | Uint8Array> {
  const found = new Map<number, bigint | Uint8Array>();
  let at = 0;
  let last = 0;
  const number = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = BigInt(request[at++] ?? 0x80);
      value |= (byte & 127n) << shift;
      if (byte < 128n) return value;
    }
    throw new EvidenceError("the request cannot be read");
  };
  while (at < request.length) {
    const [key, value] = [Number(number()), number()];
    const place = key >> 3;
    const isBytes = (key & 7) === 2;
    demand(place > last && (isBytes || (key & 7) === 0), "the request cannot be read");
    last = place;
    if (isBytes) {
      const end = at + Number(value);
      demand(end <= request.length, "the request cannot be read");
      found.set(place, request.slice(at, end));
      at = end;
    } else found.set(place, value);
  }
  return found;
}
