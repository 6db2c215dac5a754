"""Who acts where a test does not care."""

from app.audit.rules.records import Actor, Source

TESTER = Actor("cli:tester", Source.CLI)
