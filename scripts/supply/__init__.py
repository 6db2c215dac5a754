"""What the gateway depends on: known holes, licences, a bill of materials."""
