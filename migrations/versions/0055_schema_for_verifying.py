"""A schema in which the gateway's role projects the log again, to compare it."""

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = False

_CREATE = """
DO $$
DECLARE
    role text;
BEGIN
    IF to_regnamespace('verifying') IS NULL AND has_database_privilege(current_database(), 'CREATE') THEN
        CREATE SCHEMA verifying;
    END IF;
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'verifying' AND pg_has_role(nspowner, 'USAGE')) THEN
        FOR role IN
            SELECT DISTINCT quote_ident(pg_get_userbyid(grantee))
            FROM pg_class, aclexplode(relacl)
            WHERE pg_class.oid = to_regclass('events') AND privilege_type = 'INSERT' AND grantee <> 0
        LOOP
            EXECUTE format('GRANT USAGE, CREATE ON SCHEMA verifying TO %s', role);
        END LOOP;
    END IF;
END $$
"""
"""Whoever may write events gets it. Without the right to create it, ``events verify`` says what to run."""

_DROP = """
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'verifying' AND pg_has_role(nspowner, 'USAGE')) THEN
        DROP SCHEMA verifying;
    END IF;
END $$
"""


def upgrade() -> None:
    # On SQLite it is a file, which is made when it is needed.
    if op.get_context().dialect.name == "postgresql":
        op.execute(_CREATE)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(_DROP)
