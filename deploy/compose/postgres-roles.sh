#!/bin/sh
# Run once by the PostgreSQL image, when the volume is new.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    -v owner_password="$(cat /run/secrets/database_owner_password)" \
    -v password="$(cat /run/secrets/database_password)" \
    -f /gateway/roles.sql
