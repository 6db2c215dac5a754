"""What deploy/ ships, run where the programs are here, and compared with the gateway."""
