"""Who acts where a test does not care."""

from app.domain.audit import Actor, Source

TESTER = Actor("cli:tester", Source.CLI)
