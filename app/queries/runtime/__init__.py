"""The state of the databases: migrations, replication, whether they hold anything."""
