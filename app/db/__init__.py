"""The database: engine, connections, column types, writing many rows at once. No table, no rule."""
