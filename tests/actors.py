"""Who acts where a test does not care."""

from app.audit.records import Actor, Source

TESTER = Actor("cli:tester", Source.CLI)
