// SPDX-License-Identifier: Apache-2.0
// Tokens that the tests' bridges hold and mint, and receivers who take no native coin.
pragma solidity ^0.8.20;

contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    error TooLittle(address owner, uint256 balance, uint256 amount);
    error TooLittleAllowed(address owner, address spender, uint256 amount);

    /// Anybody may: it is the tests' money.
    function mint(address to, uint256 amount) public virtual {
        balanceOf[to] += amount;
    }

    function burn(address from, uint256 amount) public {
        if (balanceOf[from] < amount) revert TooLittle(from, balanceOf[from], amount);
        balanceOf[from] -= amount;
    }

    function transfer(address to, uint256 amount) external {
        burn(msg.sender, amount);
        balanceOf[to] += amount;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (allowance[from][msg.sender] < amount) revert TooLittleAllowed(from, msg.sender, amount);
        allowance[from][msg.sender] -= amount;
        burn(from, amount);
        balanceOf[to] += amount;
        return true;
    }
}

/// A token that stands for native coin, such as WETH.
contract WrappedCoin is Token {
    error NotPaid();

    receive() external payable {}

    /// Coin for as much of the token.
    function deposit() external payable {
        mint(msg.sender, msg.value);
    }

    function withdraw(uint256 amount) external {
        burn(msg.sender, amount);
        (bool sent, ) = msg.sender.call{value: amount}("");
        if (!sent) revert NotPaid();
    }
}

/// A pegged token that its bridge may mint up to a cap.
contract CappedToken is Token {
    uint256 public cap;
    uint256 public supply;

    error OverSupplyCap(uint256 supply, uint256 cap);

    /// What governors decide in production, and the tests here.
    function setCap(uint256 to) external {
        cap = to;
    }

    function mint(address to, uint256 amount) public override {
        supply += amount;
        if (supply > cap) revert OverSupplyCap(supply, cap);
        super.mint(to, amount);
    }
}

/// A wallet that is a contract and cannot be paid in native coin.
contract NoCoin {}
