"""Which parts does what is projected have, to be compared with the log one by one?"""
