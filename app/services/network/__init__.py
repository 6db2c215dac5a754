"""The network document in its parts: fields, sections, rules, differences."""
