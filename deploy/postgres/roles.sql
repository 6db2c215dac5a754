-- Two roles and the database, once, as a superuser:
--   psql -v ON_ERROR_STOP=1 -v owner_password=… -v password=… -f roles.sql postgres
-- gateway_owner migrates, gateway serves: it reads and writes rows, and can change no table of public.
CREATE ROLE gateway_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE gateway LOGIN PASSWORD :'password';
CREATE DATABASE gateway OWNER gateway_owner TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
REVOKE ALL ON DATABASE gateway FROM PUBLIC;
GRANT CONNECT ON DATABASE gateway TO gateway;

-- Behind a pooler these cannot be set by a connection (docs/scaling.md#pgbouncer).
ALTER ROLE gateway SET TimeZone = 'UTC';
ALTER ROLE gateway SET statement_timeout = '20s';
ALTER ROLE gateway SET lock_timeout = '2s';
ALTER ROLE gateway SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE gateway SET jit = off;

\connect gateway
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO gateway_owner;
GRANT USAGE ON SCHEMA public TO gateway;
ALTER DEFAULT PRIVILEGES FOR ROLE gateway_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO gateway;
ALTER DEFAULT PRIVILEGES FOR ROLE gateway_owner IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO gateway;

-- Where gateway projects the log again (docs/operations.md#verify).
CREATE SCHEMA verifying AUTHORIZATION gateway_owner;
GRANT USAGE, CREATE ON SCHEMA verifying TO gateway;
