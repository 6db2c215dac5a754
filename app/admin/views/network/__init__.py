"""The pages of the network document: lists, edits with a preview, blocks, base fees, validators."""
