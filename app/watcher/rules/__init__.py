"""Rules: which facts about a chain are accepted, without a node, a database or a clock."""
