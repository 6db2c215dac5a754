"""The dependencies of the gateway: known vulnerabilities, licences, a bill of materials."""
