// SPDX-License-Identifier: Apache-2.0
// Reads a request: protobuf whose fields are numbers, or bytes of at most 32.
pragma solidity ^0.8.20;

library Requests {
    error Unreadable();

    /// The fields 1 to 7 as numbers; bytes are big-endian, those that are missing 0. As in the decoder of
    /// the production contracts, the last of a repeated field counts and unknown ones are left out.
    function read(bytes calldata raw) internal pure returns (uint256[8] memory fields) {
        uint256 place;
        while (place < raw.length) {
            uint256 key;
            uint256 value;
            (key, place) = varint(raw, place);
            (value, place) = varint(raw, place);
            if (key & 7 == 2) {
                uint256 end = place + value;
                if (value > 32 || end > raw.length) revert Unreadable();
                value = value == 0 ? 0 : uint256(bytes32(raw[place:end])) >> (8 * (32 - value));
                place = end;
            } else if (key & 7 != 0) {
                revert Unreadable();
            }
            if (key >> 3 < 8) fields[key >> 3] = value;
        }
    }

    function varint(bytes calldata raw, uint256 place) private pure returns (uint256 value, uint256 next) {
        for (uint256 shift = 0; shift < 70; shift += 7) {
            if (place >= raw.length) revert Unreadable();
            uint8 part = uint8(raw[place++]);
            value |= uint256(part & 0x7f) << shift;
            if (part < 0x80) return (value & type(uint64).max, place);
        }
        revert Unreadable();
    }
}
