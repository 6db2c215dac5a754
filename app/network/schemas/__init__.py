"""The shape of the network document: a schema for each section, their fields, the rules between rows."""
