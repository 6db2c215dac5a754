"""The dependencies of the gateway: known holes, licences, a bill of materials."""
