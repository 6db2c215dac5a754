// SPDX-License-Identifier: Apache-2.0
// What lies between a proven request and its money: pause, volume caps, the delay queue, native coin.
pragma solidity ^0.8.20;

import "./Signers.sol";
import "./Tokens.sol";

abstract contract Payouts is Signers {
    struct Delayed {
        address receiver;
        address token;
        uint256 amount;
        uint256 since;
    }

    bool public paused;
    /// The token that native coin is taken and paid out as; 0 for none.
    address public nativeWrap;
    /// An amount above a token's threshold waits for `delayPeriod` seconds; 0 switches the delay off.
    mapping(address => uint256) public delayThresholds;
    uint256 public delayPeriod;
    /// What may be paid out of a token in one epoch; a cap or a length of 0 is none.
    mapping(address => uint256) public epochVolumeCaps;
    uint256 public epochLength;
    mapping(address => uint256) public epochVolumes;
    mapping(address => uint256) public lastOpTimestamps;
    mapping(bytes32 => Delayed) public delayedTransfers;
    /// The ids of requests that were taken.
    mapping(bytes32 => bool) public done;
    /// The ids of sends, deposits and burns that were taken.
    mapping(bytes32 => bool) public records;

    uint256 private constant GAS_OF_RECEIVER = 50_000;

    event DelayedTransferAdded(bytes32 id);
    event DelayedTransferExecuted(bytes32 id, address receiver, address token, uint256 amount);

    error Paused();
    error AlreadyDone(bytes32 id);
    error AlreadySent(bytes32 id);
    error OtherValue(uint256 amount, uint256 value);
    error NoNativeWrap();
    error OverVolumeCap(uint256 volume, uint256 cap);
    error NotQueued(bytes32 id);
    error StillLocked(bytes32 id, uint256 until);
    error NativeRefused(address receiver);

    modifier whenNotPaused() {
        if (paused) revert Paused();
        _;
    }

    receive() external payable {}

    // What governors decide in production, and the tests here.

    function setPaused(bool to) external {
        paused = to;
    }

    function setWrapped(address token) external {
        nativeWrap = token;
    }

    function setDelay(address token, uint256 threshold, uint256 period) external {
        delayThresholds[token] = threshold;
        delayPeriod = period;
    }

    function setEpochVolume(address token, uint256 cap, uint256 length) external {
        epochVolumeCaps[token] = cap;
        epochLength = length;
    }

    /// Pays a transfer out of the queue, once its time is over. Anybody may ask for it.
    function executeDelayedTransfer(bytes32 id) external whenNotPaused {
        Delayed memory queued = delayedTransfers[id];
        if (queued.since == 0) revert NotQueued(id);
        if (block.timestamp <= queued.since + delayPeriod) revert StillLocked(id, queued.since + delayPeriod);
        delete delayedTransfers[id];
        payOut(queued.receiver, queued.token, queued.amount);
        emit DelayedTransferExecuted(id, queued.receiver, queued.token, queued.amount);
    }

    /// Takes each id once, counts it to the epoch, and pays it or puts it into the queue.
    function release(bytes32 id, address receiver, address token, uint256 amount) internal {
        if (done[id]) revert AlreadyDone(id);
        done[id] = true;
        countVolume(token, amount);
        uint256 threshold = delayThresholds[token];
        if (threshold == 0 || amount <= threshold) {
            payOut(receiver, token, amount);
        } else {
            delayedTransfers[id] = Delayed(receiver, token, amount, block.timestamp);
            emit DelayedTransferAdded(id);
        }
    }

    /// Takes what the sender has allowed; where that is nothing, the tests mint it.
    function take(address token, uint256 amount) internal {
        if (Token(token).allowance(msg.sender, address(this)) == 0) Token(token).mint(address(this), amount);
        else Token(token).transferFrom(msg.sender, address(this), amount);
    }

    /// Takes native coin, which is kept wrapped.
    function takeNative(uint256 amount) internal {
        if (msg.value != amount) revert OtherValue(amount, msg.value);
        if (nativeWrap == address(0)) revert NoNativeWrap();
        WrappedCoin(payable(nativeWrap)).deposit{value: amount}();
    }

    /// Takes each id of a send, a deposit or a burn once.
    function takeOnce(bytes32 id) internal {
        if (records[id]) revert AlreadySent(id);
        records[id] = true;
    }

    /// Moves the funds. A bridge of pegged tokens mints instead.
    function payOut(address receiver, address token, uint256 amount) internal virtual {
        if (token != nativeWrap) {
            Token(token).transfer(receiver, amount);
            return;
        }
        WrappedCoin(payable(token)).withdraw(amount);
        (bool sent, ) = receiver.call{value: amount, gas: GAS_OF_RECEIVER}("");
        if (!sent) revert NativeRefused(receiver);
    }

    function countVolume(address token, uint256 amount) private {
        uint256 cap = epochVolumeCaps[token];
        if (epochLength == 0 || cap == 0) return;
        uint256 start = (block.timestamp / epochLength) * epochLength;
        uint256 volume = (lastOpTimestamps[token] < start ? 0 : epochVolumes[token]) + amount;
        if (volume > cap) revert OverVolumeCap(volume, cap);
        epochVolumes[token] = volume;
        lastOpTimestamps[token] = block.timestamp;
    }
}
