"""Where is a transfer, and what is wrong with it?"""
