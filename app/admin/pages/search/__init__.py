"""What the search box finds: transfers, accounts, and rows of the network."""
