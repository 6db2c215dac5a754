// A call on an EVM chain, with viem: simulated first, and sent only while node and wallet are of its chain.
import {
  type Abi,
  type Account,
  type Address,
  type Hex,
  type PublicClient,
  type WalletClient,
  BaseError,
  ContractFunctionRevertedError,
} from "viem";

/** The two clients of the source chain, which must both be on it; who sends is the wallet's account. */
export interface Clients {
  publicClient: PublicClient;
  walletClient: WalletClient;
}

export interface ContractCall {
  chainId: number;
  address: Address;
  abi: Abi;
  functionName: string;
  args: readonly unknown[];
  value?: bigint;
}

/** What is said of a call that is not sent: `what` happens by it, and the two kinds of errors. */
export interface Saying {
  what: string;
  wrong: new (text: string) => Error;
  refused: new (text: string, options: ErrorOptions) => Error;
  /** Why the contract may refuse it, where that is known. */
  reasons: string;
}

/** Send a call that its contract takes now, from the wallet's account. */
export async function simulateAndSend(
  { publicClient, walletClient }: Clients,
  account: Account,
  { chainId, ...call }: ContractCall,
  { what, wrong, refused, reasons }: Saying,
): Promise<Hex> {
  await checkNode(publicClient, chainId, { what, wrong });
  const written = { ...call, account };
  try {
    await publicClient.simulateContract(written);
  } catch (error) {
    const reverted = error instanceof BaseError && error.walk((each) => each instanceof ContractFunctionRevertedError);
    if (!reverted) throw error;
    const why = reasons && ` (${reasons})`;
    throw new refused(`the contract refuses the call${why}: ${error.shortMessage}`, { cause: error });
  }
  // As late as can be: a user changes the wallet's chain at any moment. viem compares it only with a chain of its own.
  const wallet = await walletClient.getChainId();
  if (wallet !== chainId) throw new wrong(`${what} on chain ${chainId}, the wallet is on ${wallet}: switch it`);
  return walletClient.writeContract({ ...written, chain: walletClient.chain ?? null });
}

/** What a node of another chain answers says nothing. */
export async function checkNode(
  publicClient: PublicClient,
  chainId: number,
  { what, wrong }: Pick<Saying, "what" | "wrong">,
): Promise<void> {
  const node = await publicClient.getChainId();
  if (node !== chainId) throw new wrong(`${what} on chain ${chainId}, the node is of ${node}`);
}

export function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
