"""How long a program is away whose main process is killed: ``python -m tests.faults_rig.kills --times 3``.

It is killed (``kill -9``) on a machine on which the gateway is installed. Nobody but systemd starts it again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.faults_rig.machine import Machine, lacking, machine

MOST_SECONDS: Final = 10.0
"""Promised by docs/faults.md#killed."""

HEADER: Final = "| main process of | unit | times | answers again after |\n|---|---|---|---|"

NETWORK: Final = """\
{"version": 1, "chains": [{"id": 1, "name": "A", "block_delay": 1, "gas_token_symbol": "ETH",
 "explore_url": "https://a.example", "contract_addr": "0x1111111111111111111111111111111111111111",
 "minimal_max_slippage": 0}]}
"""

PROGRAMS: Final = {
    "nginx": ("nginx", "curl -fsk -m 2 https://127.0.0.1/healthz"),
    "PgBouncer": ("pgbouncer", 'psql -XAtc "SELECT 1" "$(cat /etc/gateway/secrets/database_url)"'),
    "PostgreSQL": (
        "postgresql@15-main",
        'psql -XAtc "SELECT 1" "$(cat /etc/gateway/secrets/database_owner_url)"',
    ),
    "Redis": (
        "redis-server",
        'redis-cli -u "$(cat /etc/gateway/secrets/rate_limit_storage_url)" ping | grep PONG',
    ),
    "a gateway, public": ("gateway@public-1", "curl -fs -m 2 http://127.0.0.1:8011/readyz"),
    "a gateway, waiting": ("gateway@waiting", "curl -fs -m 2 http://127.0.0.1:8013/readyz"),
    "a gateway, operators": ("gateway@operators", "curl -fs -m 2 http://127.0.0.1:8014/readyz"),
    "the watcher": ("gateway-watcher", "systemctl is-active gateway-watcher"),
    "the sender": ("gateway-sender", "systemctl is-active gateway-sender"),
    "Prometheus": ("prometheus", "curl -fs -m 2 http://127.0.0.1:9090/-/ready"),
}
"""The unit of each, and a command that succeeds where it answers."""

NODES: Final = {
    "etcd": ("etcd", "curl -fs -m 2 $TLS https://127.0.0.2:2379/health"),
    "Patroni": ("patroni", "curl -fs -m 2 $TLS https://127.0.0.2:8008/health"),
}
"""The same on a node, which has PostgreSQL by Patroni."""

NODE: Final = """\
set -eu
systemctl disable -q --now gateway-watcher gateway-sender 'gateway@*' pgbouncer postgresql
cd /opt/gateway
install -d /etc/patroni/tls
sed -e 's|^NODES=.*|NODES=db1=127.0.0.2|' -e 's|^NETWORK=.*|NETWORK=127.0.0.0/8|' -e 's|CHANGE_ME|secret|' \\
    deploy/patroni/cluster.env.example > /etc/patroni/cluster.env
cd /etc/patroni/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=nodes \\
    -keyout ca.key -out ca.crt
openssl req -x509 -CA ca.crt -CAkey ca.key -extensions usr_cert -days 1 -newkey ec \\
    -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout node.key -subj /CN=db1 \\
    -addext subjectAltName=IP:127.0.0.2 -out node.crt
chmod 644 node.key
/opt/gateway/deploy/patroni/node db1
systemctl daemon-reload
systemctl start etcd patroni
"""
"""docs/failover.md#order for a node that is alone, which is enough for its processes."""

KILL: Final = """\
TLS="--cacert /etc/patroni/tls/ca.crt --cert /etc/patroni/tls/node.crt --key /etc/patroni/tls/node.key"
main() { systemctl show -p MainPID --value "$UNIT"; }
now() { date +%s.%N; }
answers() { timeout 3 bash -c "$CHECK" > /dev/null 2>&1; }
export TLS
for _ in $(seq 600); do answers && break; sleep 0.1; done
before=$(main)
began=$(now)
kill -9 "$before"
for _ in $(seq 600); do
    after=$(main)
    if [ "$after" != 0 ] && [ "$after" != "$before" ] && answers; then
        echo "$(now) - $began" | bc
        exit
    fi
    sleep 0.05
done
echo "$UNIT is still away:" && systemctl status --no-pager "$UNIT"
exit 1
"""


def kill(there: Machine, unit: str, check: str) -> float:
    """Kill the main process of a unit. Returns the seconds until another one answers."""
    return float(there.run(f"UNIT='{unit}'\nexport CHECK='{check}'\n{KILL}"))


def lines(times: int) -> Iterator[tuple[str, float]]:
    """Install everything, and kill each so often: a line of the table, and the longest time."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(NETWORK)
        file.flush()
        with machine(Path(file.name)) as there:
            for prepare, programs in (("", PROGRAMS), (NODE, NODES)):
                there.run(prepare)
                for name, (unit, check) in programs.items():
                    seconds = [kill(there, unit, check) for _ in range(times)]
                    span = f"{min(seconds):.1f} to {max(seconds):.1f} s"
                    yield f"| {name} | `{unit}` | {times} | {span} |", max(seconds)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where one was away for longer than promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1, help="how often each is killed")
    options = parser.parse_args(arguments)
    if lacks := lacking():
        raise SystemExit(f"this needs more: {lacks}")
    print(HEADER, flush=True)
    longest = 0.0
    for line, seconds in lines(options.times):
        print(line, flush=True)
        longest = max(longest, seconds)
    return int(longest > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
