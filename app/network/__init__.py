"""The network that operators configure: chains, tokens, pools, routes, pairs, blocks, validators; and its
edits.
"""
