// Transfers that a wallet sends, with viem: the gateway's transaction, computed again here before anybody signs it.
import { type Abi, type Account, type Hex, encodeFunctionData, parseAbi } from "viem";
import type { CallOptions } from "./calls.js";
import { type Clients, checkNode, same, simulateAndSend } from "./chains.js";
import type { Gateway, SendAnswer, SendRequest } from "./gateway.js";
import { transferId } from "./transfer-ids.js";
import { type MadeSend, type Way, findWay, sendArguments } from "./ways.js";

const ERC20 = parseAbi([
  "function allowance(address owner, address spender) view returns (uint256)",
  // Without its result: USDT's has none.
  "function approve(address spender, uint256 amount)",
]);

/** The answer is not the transfer that was requested: do not send. */
export class QuoteError extends Error {
  override name = "QuoteError";
}

/** The price has ended, and the transfer would bring less now than was shown: request a new quote, and show it. */
export class QuoteExpired extends Error {
  override name = "QuoteExpired";
}

/** Wallet, node or contract would refuse it now, as where the balance is too small or the transfer was sent before. */
export class SendRefused extends Error {
  override name = "SendRefused";
}

export interface QuoteOptions extends CallOptions {
  /** The only contracts that may take the funds: an application's own list, which no gateway can change. */
  contracts?: readonly string[] | undefined;
  /** The pool bridge's own `minimalMaxSlippage`, read from it. */
  minimalMaxSlippage?: number | undefined;
}

/** A transfer that can be sent. `transaction` and `approval` are what a wallet signs; no approval for native coin. */
export interface Quote {
  readonly transferId: Hex;
  /** Store it with the transfer: a request with the same nonce is the same transfer. */
  readonly nonce: bigint;
  /** In the destination token's smallest unit: show it before `send`. */
  readonly minimumReceived: bigint;
  /** When the price ends. */
  readonly validUntil: Date;
  readonly transaction: NonNullable<SendAnswer["transaction"]>;
  readonly approval: SendAnswer["approval"];
  /** The gateway's whole answer, with the estimate. */
  readonly answer: SendAnswer;
  /**
   * Allow the contract the amount where it is not allowed yet, simulate the call and send it; the transaction's hash. Call
   * it again where it fails: the contract takes a transfer once. Where the price has ended it is requested again, with the
   * same nonce: `QuoteExpired` if the transfer would bring less. `SendRefused` where it cannot be sent now.
   */
  send(clients: Clients, options?: CallOptions): Promise<Hex>;
}

/**
 * The transaction that sends a transfer, by the gateway's answer and computed here from the transfer configs and the
 * request. `QuoteError` where the two differ.
 */
export async function getQuote(
  gateway: Gateway,
  request: SendRequest,
  { contracts, minimalMaxSlippage = 0, ...options }: QuoteOptions = {},
): Promise<Quote> {
  const { tokenSymbol, srcChainId, dstChainId, nonce = randomNonce(), receiver = request.sender } = request;
  const offered = async (call: CallOptions): Promise<Offer> => {
    const way = findWay(await gateway.configs(call), tokenSymbol, srcChainId, dstChainId, request.isPegged);
    const listed = contracts === undefined || contracts.some((each) => same(each, way.contract));
    demand(listed, `${way.contract} is none of the contracts that are trusted`);
    const wanted = { ...request, nonce, receiver, isPegged: way.isPegged };
    return verified(wanted, way, await gateway.sendTransaction(wanted, call), minimalMaxSlippage);
  };
  return new Quoted(request.sender, offered, await offered(options));
}

/** Of 63 bits: databases have no larger numbers. */
function randomNonce(): bigint {
  return BigInt.asUintN(63, crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n);
}

type Wanted = SendRequest & { nonce: bigint; receiver: string };
type Transaction = Quote["transaction"];

/** What was answered, and what was computed of it and the request. */
interface Offer {
  answer: SendAnswer;
  send: MadeSend;
  transaction: Transaction;
  transferId: Hex;
}

class Quoted implements Quote {
  #offer: Offer;

  constructor(
    readonly sender: string,
    readonly offered: (options: CallOptions) => Promise<Offer>,
    offer: Offer,
  ) {
    this.#offer = offer;
  }

  get transferId(): Hex {
    return this.#offer.transferId;
  }

  get nonce(): bigint {
    return this.#offer.send.nonce;
  }

  get minimumReceived(): bigint {
    return this.#offer.send.minimumReceived;
  }

  get validUntil(): Date {
    return new Date(this.answer.valid_until);
  }

  get transaction(): Transaction {
    return this.#offer.transaction;
  }

  get approval(): SendAnswer["approval"] {
    return this.answer.approval;
  }

  get answer(): SendAnswer {
    return this.#offer.answer;
  }

  async send(clients: Clients, options: CallOptions = {}): Promise<Hex> {
    const { account } = clients.walletClient;
    if (account === undefined || !same(account.address, this.sender)) {
      throw new SendRefused(`the wallet's account is not the sender ${this.sender}`);
    }
    if (this.approval !== null) await allow(clients, account, this.#offer.send);
    // Behind the approvals, which may take minutes.
    if (Date.now() >= this.validUntil.getTime()) await this.#renew(options);
    const { chainId, contract: address, signature, function: functionName, arguments: args, value } = this.#offer.send;
    const call = { chainId, address, abi: abiOf(signature), functionName, args, value };
    return simulateAndSend(clients, account, call, SAYING);
  }

  async #renew(options: CallOptions): Promise<void> {
    const offer = await this.offered(options);
    const [shown, now] = [this.minimumReceived, offer.send.minimumReceived];
    if (now < shown) throw new QuoteExpired(`the transfer would bring ${now} now, not ${shown}`);
    this.#offer = offer;
  }
}

/** What the request leads to on this way, where the answer has the same transaction, approval and id. */
function verified(wanted: Wanted, way: Way, answer: SendAnswer, minimalMaxSlippage: number): Offer {
  const { amount, receiver, nonce, native = false, sender } = wanted;
  const send = sendArguments(way, answer, { amount, receiver, nonce, minimalMaxSlippage, native });
  const { chainId, contract, token, value } = send;
  const { approval, transaction } = answer;
  const data = encodeFunctionData({ abi: abiOf(send.signature), args: send.arguments });
  checkTransaction("the transaction", transaction, chainId, contract, data, value);
  const id = transferId(sender, send);
  demand(same(answer.transfer_id ?? "", id), "its transfer id is another one");
  if (native) demand(approval === null, "native coin needs no approval");
  else {
    demand(approval !== null, "the approval is missing");
    const alike = same(approval.token, token) && same(approval.spender, contract) && approval.amount === `${amount}`;
    demand(alike, "the approval is for another token, contract or amount");
    const approve = encodeFunctionData({ abi: ERC20, functionName: "approve", args: [contract, amount] });
    checkTransaction("the approval", approval.transaction, chainId, token, approve, 0n);
  }
  return { answer, send, transaction, transferId: id };
}

/** Of one function, which may take native coin. */
function abiOf(signature: string): Abi {
  return parseAbi([`function ${signature} payable`] as string[]);
}

function checkTransaction(
  what: string,
  given: Transaction | null,
  chainId: number,
  to: string,
  data: Hex,
  value: bigint,
): asserts given is Transaction {
  demand(given !== null, `${what} is missing`);
  demand(given.chain_id === chainId, `${what} is for another chain`);
  demand(same(given.to, to), `${what} goes to ${given.to} instead of ${to}`);
  demand(same(given.data, data), `${what} calls something else`);
  demand(given.value === `${value}`, `${what} has the value ${given.value} instead of ${value}`);
}

/** Have the contract allowed exactly the amount. Some tokens, such as USDT, change an allowance from and to 0 only. */
async function allow(clients: Clients, account: Account, { chainId, token, contract, amount }: MadeSend): Promise<void> {
  const { publicClient } = clients;
  await checkNode(publicClient, chainId, SAYING);
  const read = { address: token, abi: ERC20, functionName: "allowance", args: [account.address, contract] } as const;
  const allowed = await publicClient.readContract(read);
  if (allowed >= amount) return;
  for (const each of allowed > 0n ? [0n, amount] : [amount]) {
    const call = { chainId, address: token, abi: ERC20, functionName: "approve", args: [contract, each] };
    const hash = await simulateAndSend(clients, account, call, SAYING);
    const { status } = await publicClient.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new SendRefused(`the token refused the approval ${hash}`);
  }
}

const SAYING = { what: "the transfer begins", wrong: SendRefused, refused: SendRefused, reasons: "" };

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new QuoteError(otherwise);
}
