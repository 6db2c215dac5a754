// SPDX-License-Identifier: Apache-2.0
// The contracts that pay refunds: the pool bridge, and token vault and pegged bridge in two versions.
// Written for the tests, so that what the gateway serves is paid or refused by a real EVM: see README.md.
pragma solidity ^0.8.20;

import "./Payouts.sol";
import "./Requests.sol";

contract PoolBridge is Payouts {
    event Send(
        bytes32 transferId, address sender, address receiver, address token,
        uint256 amount, uint64 dstChainId, uint64 nonce, uint32 maxSlippage
    );
    event Relay(
        bytes32 transferId, address sender, address receiver, address token,
        uint256 amount, uint64 srcChainId, bytes32 srcTransferId
    );
    event LiquidityAdded(uint64 seqnum, address provider, address token, uint256 amount);
    event WithdrawDone(
        bytes32 withdrawId, uint64 seqnum, address receiver, address token, uint256 amount, bytes32 refid
    );

    /// How often liquidity was added: the number of the next time is one more.
    uint64 public addseq;

    error OtherChain(uint256 chainid);

    /// A send's slippage must be above it; 0 switches the check off.
    uint32 public minimalMaxSlippage;

    error SlippageTooSmall(uint32 maxSlippage, uint32 minimum);

    /// What governors decide in production, and the tests here.
    function setMinimalMaxSlippage(uint32 to) external {
        minimalMaxSlippage = to;
    }

    function send(
        address receiver, address token, uint256 amount, uint64 dstChainId, uint64 nonce, uint32 maxSlippage
    ) external whenNotPaused returns (bytes32 id) {
        take(token, amount);
        return sent(receiver, token, amount, dstChainId, nonce, maxSlippage);
    }

    /// A send of native coin, which is kept wrapped: the event names the wrapped token.
    function sendNative(
        address receiver, uint256 amount, uint64 dstChainId, uint64 nonce, uint32 maxSlippage
    ) external payable whenNotPaused returns (bytes32 id) {
        takeNative(amount);
        return sent(receiver, nativeWrap, amount, dstChainId, nonce, maxSlippage);
    }

    /// A provider's deposit; the tests mint what it takes.
    function addLiquidity(address token, uint256 amount) external whenNotPaused {
        Token(token).mint(address(this), amount);
        emit LiquidityAdded(++addseq, msg.sender, token, amount);
    }

    /// The payout of a send on another chain. The request: sender, receiver, token, amount, the two chains
    /// and the send's id.
    function relay(
        bytes calldata relayRequest, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external whenNotPaused {
        check(relayRequest, "Relay", sigs, signers, powers);
        uint256[8] memory f = Requests.read(relayRequest);
        if (f[6] != block.chainid) revert OtherChain(f[6]);
        (address sender, address receiver, address token) =
            (address(uint160(f[1])), address(uint160(f[2])), address(uint160(f[3])));
        bytes32 id = keccak256(
            abi.encodePacked(sender, receiver, token, f[4], uint64(f[5]), uint64(f[6]), bytes32(f[7]))
        );
        release(id, receiver, token, f[4]);
        emit Relay(id, sender, receiver, token, f[4], uint64(f[5]), bytes32(f[7]));
    }

    function sent(
        address receiver, address token, uint256 amount, uint64 dstChainId, uint64 nonce, uint32 maxSlippage
    ) private returns (bytes32 id) {
        if (minimalMaxSlippage != 0 && maxSlippage <= minimalMaxSlippage) {
            revert SlippageTooSmall(maxSlippage, minimalMaxSlippage);
        }
        id = keccak256(
            abi.encodePacked(msg.sender, receiver, token, amount, dstChainId, nonce, uint64(block.chainid))
        );
        takeOnce(id);
        emit Send(id, msg.sender, receiver, token, amount, dstChainId, nonce, maxSlippage);
    }

    /// The id leaves the reference out: the requests of two transfers can have one.
    function withdraw(
        bytes calldata wdmsg, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external whenNotPaused {
        check(wdmsg, "WithdrawMsg", sigs, signers, powers);
        uint256[8] memory f = Requests.read(wdmsg);
        if (f[1] != block.chainid) revert OtherChain(f[1]);
        (uint64 seqnum, address receiver, address token) = (uint64(f[2]), address(uint160(f[3])), address(uint160(f[4])));
        bytes32 id = keccak256(abi.encodePacked(uint64(f[1]), seqnum, receiver, token, f[5]));
        release(id, receiver, token, f[5]);
        emit WithdrawDone(id, seqnum, receiver, token, f[5], bytes32(f[6]));
    }
}

/// Locks the original token.
abstract contract Vault is Payouts {
    event Withdrawn(
        bytes32 withdrawId, address receiver, address token, uint256 amount,
        uint64 refChainId, bytes32 refId, address burnAccount
    );

    function pay(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) internal whenNotPaused returns (bytes32 id) {
        check(request, "Withdraw", sigs, signers, powers);
        uint256[8] memory f = Requests.read(request);
        (address token, address receiver) = (address(uint160(f[1])), address(uint160(f[2])));
        id = keccak256(abi.encodePacked(receiver, token, f[3], uint160(f[4]), uint64(f[5]), bytes32(f[6]), own()));
        release(id, receiver, token, f[3]);
        emit Withdrawn(id, receiver, token, f[3], uint64(f[5]), bytes32(f[6]), address(uint160(f[4])));
    }

    /// What the version puts of its own address into ids.
    function own() internal view virtual returns (bytes memory);
}

contract TokenVaultV1 is Vault {
    event Deposited(
        bytes32 depositId, address depositor, address token, uint256 amount, uint64 mintChainId, address mintAccount
    );

    function deposit(address token, uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        external whenNotPaused
    {
        take(token, amount);
        deposited(token, amount, mintChainId, mintAccount, nonce);
    }

    function depositNative(uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        external payable whenNotPaused
    {
        takeNative(amount);
        deposited(nativeWrap, amount, mintChainId, mintAccount, nonce);
    }

    function deposited(address token, uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        private
    {
        bytes32 id = keccak256(
            abi.encodePacked(msg.sender, token, amount, mintChainId, mintAccount, nonce, uint64(block.chainid))
        );
        takeOnce(id);
        emit Deposited(id, msg.sender, token, amount, mintChainId, mintAccount);
    }

    function withdraw(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external {
        pay(request, sigs, signers, powers);
    }

    function own() internal pure override returns (bytes memory) {
        return "";
    }
}

contract TokenVaultV2 is Vault {
    event Deposited(
        bytes32 depositId, address depositor, address token, uint256 amount,
        uint64 mintChainId, address mintAccount, uint64 nonce
    );

    function deposit(address token, uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        external whenNotPaused returns (bytes32 id)
    {
        take(token, amount);
        return deposited(token, amount, mintChainId, mintAccount, nonce);
    }

    function depositNative(uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        external payable whenNotPaused returns (bytes32 id)
    {
        takeNative(amount);
        return deposited(nativeWrap, amount, mintChainId, mintAccount, nonce);
    }

    function deposited(address token, uint256 amount, uint64 mintChainId, address mintAccount, uint64 nonce)
        private returns (bytes32 id)
    {
        id = keccak256(
            abi.encodePacked(
                msg.sender, token, amount, mintChainId, mintAccount, nonce, uint64(block.chainid), address(this)
            )
        );
        takeOnce(id);
        emit Deposited(id, msg.sender, token, amount, mintChainId, mintAccount, nonce);
    }

    function withdraw(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external returns (bytes32) {
        return pay(request, sigs, signers, powers);
    }

    function own() internal view override returns (bytes memory) {
        return abi.encodePacked(address(this));
    }
}

/// Mints and burns the pegged token.
abstract contract Pegged is Payouts {
    event Mint(
        bytes32 mintId, address token, address account, uint256 amount,
        uint64 refChainId, bytes32 refId, address depositor
    );

    function payBack(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) internal whenNotPaused returns (bytes32 id) {
        check(request, "Mint", sigs, signers, powers);
        uint256[8] memory f = Requests.read(request);
        (address token, address account) = (address(uint160(f[1])), address(uint160(f[2])));
        id = keccak256(abi.encodePacked(account, token, f[3], uint160(f[4]), uint64(f[5]), bytes32(f[6]), own()));
        release(id, account, token, f[3]);
        emit Mint(id, token, account, f[3], uint64(f[5]), bytes32(f[6]), address(uint160(f[4])));
    }

    function payOut(address receiver, address token, uint256 amount) internal override {
        Token(token).mint(receiver, amount);
    }

    function own() internal view virtual returns (bytes memory);
}

contract PeggedBridgeV1 is Pegged {
    event Burn(bytes32 burnId, address token, address account, uint256 amount, address withdrawAccount);

    function burn(address token, uint256 amount, address withdrawAccount, uint64 nonce) external whenNotPaused {
        bytes32 id = keccak256(
            abi.encodePacked(msg.sender, token, amount, withdrawAccount, nonce, uint64(block.chainid))
        );
        takeOnce(id);
        Token(token).burn(msg.sender, amount);
        emit Burn(id, token, msg.sender, amount, withdrawAccount);
    }

    function mint(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external {
        payBack(request, sigs, signers, powers);
    }

    function own() internal pure override returns (bytes memory) {
        return "";
    }
}

contract PeggedBridgeV2 is Pegged {
    event Burn(
        bytes32 burnId, address token, address account, uint256 amount,
        uint64 toChainId, address toAccount, uint64 nonce
    );

    function burn(address token, uint256 amount, uint64 toChainId, address toAccount, uint64 nonce)
        external whenNotPaused returns (bytes32 id)
    {
        id = keccak256(
            abi.encodePacked(
                msg.sender, token, amount, toChainId, toAccount, nonce, uint64(block.chainid), address(this)
            )
        );
        takeOnce(id);
        Token(token).burn(msg.sender, amount);
        emit Burn(id, token, msg.sender, amount, toChainId, toAccount, nonce);
    }

    function mint(
        bytes calldata request, bytes[] calldata sigs, address[] calldata signers, uint256[] calldata powers
    ) external returns (bytes32) {
        return payBack(request, sigs, signers, powers);
    }

    function own() internal view override returns (bytes memory) {
        return abi.encodePacked(address(this));
    }
}
