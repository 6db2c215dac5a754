"""The sandbox: a network of real chains and a week of made-up transfers, as plain data and events."""
