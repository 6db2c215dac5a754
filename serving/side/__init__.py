"""A process beside the workers, with listeners of its own: it answers while all workers wait."""
