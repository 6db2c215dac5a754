"""What can be proposed, previewed again and approved: changes of the network, of accounts, of tokens."""
