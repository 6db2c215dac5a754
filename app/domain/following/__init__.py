"""Every status that a transfer ever had, from its log: what streams of events tell, from any position on."""
