// SPDX-License-Identifier: Apache-2.0
// Who may let a bridge's contract pay: a quorum of its validators. See README.md.
pragma solidity ^0.8.20;

abstract contract Signers {
    /// keccak256 of the whole validator set, as `setHash` makes it.
    bytes32 public ssHash;

    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    event SignersUpdated(address[] signers, uint256[] powers);

    error WrongSet();
    error OtherLength(uint256 signers, uint256 powers);
    error NotAscending(uint256 place);
    error NoQuorum(uint256 power, uint256 quorum);
    error BadSignature(uint256 place);

    /// A rotation. In production a quorum of the set before signs it; here the tests decide.
    function updateSigners(address[] calldata signers, uint256[] calldata powers) external {
        keep(signers, powers);
    }

    /// The owner's rotation, which no validator signs: with an empty set the bridge is frozen.
    function resetSigners(address[] calldata signers, uint256[] calldata powers) external {
        keep(signers, powers);
    }

    /// As many powers as signers, and signers in strictly ascending order, of whom none is the zero address.
    /// Nothing is asked of the powers, nor of how many there are.
    function keep(address[] calldata signers, uint256[] calldata powers) private {
        if (signers.length != powers.length) revert OtherLength(signers.length, powers.length);
        address last;
        for (uint256 i = 0; i < signers.length; ++i) {
            if (signers[i] <= last) revert NotAscending(i);
            last = signers[i];
        }
        ssHash = setHash(signers, powers);
        emit SignersUpdated(signers, powers);
    }

    /// Each signer padded to 32 bytes, then each power. Arrays are packed without their lengths, so one
    /// entry could move from one list to the other: as many powers as signers are asked for.
    function setHash(address[] calldata signers, uint256[] calldata powers) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(signers, powers));
    }

    /// What validators sign: the request, bound to this chain, this contract and the name of its kind.
    function digestOf(bytes calldata request, string memory kind) public view returns (bytes32) {
        bytes32 domain = keccak256(abi.encodePacked(block.chainid, address(this), kind));
        bytes32 inner = keccak256(abi.encodePacked(domain, request));
        return keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", inner));
    }

    /// Reverts unless signatures in strictly ascending order of their signers, who are in the set whose
    /// hash is kept, reach more than two thirds of its power.
    function check(
        bytes calldata request,
        string memory kind,
        bytes[] calldata sigs,
        address[] calldata signers,
        uint256[] calldata powers
    ) internal view {
        if (signers.length != powers.length || setHash(signers, powers) != ssHash) revert WrongSet();
        bytes32 digest = digestOf(request, kind);
        uint256 quorum = quorumOf(powers);
        uint256 power;
        uint256 next; // the first place in the set that a further signer may have
        address last;
        for (uint256 i = 0; i < sigs.length; ++i) {
            address signer = recover(digest, sigs[i], i);
            if (signer <= last) revert NotAscending(i);
            last = signer;
            while (next < signers.length && signers[next] < signer) ++next;
            if (next < signers.length && signers[next] == signer) power += powers[next];
        }
        if (power < quorum) revert NoQuorum(power, quorum);
    }

    function quorumOf(uint256[] calldata powers) private pure returns (uint256) {
        uint256 total;
        for (uint256 i = 0; i < powers.length; ++i) total += powers[i];
        return total * 2 / 3 + 1;
    }

    /// Takes one form of each signature only: 65 bytes, v 27 or 28, and s in the lower half of the order.
    function recover(bytes32 digest, bytes calldata sig, uint256 place) private pure returns (address signer) {
        if (sig.length != 65) revert BadSignature(place);
        uint8 v = uint8(sig[64]);
        bytes32 s = bytes32(sig[32:64]);
        if ((v != 27 && v != 28) || uint256(s) > HALF_ORDER) revert BadSignature(place);
        signer = ecrecover(digest, v, bytes32(sig[0:32]), s);
        if (signer == address(0)) revert BadSignature(place);
    }
}
