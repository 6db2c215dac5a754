"""How many signatures one refund carries, so that judging it stays cheap.

None of these bounds makes an answer depend on the order of arrival, once refused events are sent again:

- of the signatures by one signer over one request the least one counts, by bytes, then time and id. It is the
  same in any order, and the others are not folded;
- a signature over no known request waits. Beyond ``MAX_WAITING`` it is refused, until its request is known:
  then its signer is known, too;
- a signature by no current validator is refused and kept aside, up to ``MAX_ASIDE``; beyond that it has to be
  sent again once its signer is current.
"""

from typing import Final

MAX_WAITING: Final = 64
"""Signatures of one transfer that wait for a request or for the validator set."""

MAX_ASIDE: Final = 64
"""Refused signatures of one transfer that are kept aside."""
