"""Forms about changes that wait for a second person."""

from __future__ import annotations

from typing import Any, ClassVar

from wtforms import StringField

from app.admin.forms.base import REASON, ConsoleForm
from app.runtime.gateway import current_gateway
from app.services.proposals.store import LONGEST_REASON


class MayWaitForm(ConsoleForm):
    """A form whose change is proposed, with a reason, where ``TWO_PERSONS`` names its section."""

    guarded_section: ClassVar[str]
    proposal_reason: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.proposal_reason = StringField(**REASON)  # made last: it stands after the form's own fields

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.waits = current_gateway().two_persons.guards(self.guarded_section)
        if not self.waits:
            del self["proposal_reason"]

    @property
    def why(self) -> str:
        """The reason, empty where none is asked for."""
        return (self.proposal_reason.data or "") if self.waits else ""


class ApproveForm(ConsoleForm):
    """Approving a proposal; grave changes ask for a name."""

    typed = StringField(render_kw={"autocomplete": "off", "spellcheck": "false"})


class CloseForm(ConsoleForm):
    """Rejecting a proposal, or withdrawing one's own."""

    reason = StringField(
        "Reason",
        description="Kept with the proposal and in the audit log.",
        render_kw={"autocomplete": "off", "maxlength": str(LONGEST_REASON)},
    )
