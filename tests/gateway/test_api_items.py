"""What the API says of an item is what its tool sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from atlas.gateway.api.alarms import AlarmItem
from atlas.gateway.api.announcements import AnnouncementItem
from atlas.gateway.api.calendar import EventItem
from atlas.gateway.api.history import ChangeItem
from atlas.gateway.api.home import DeviceItem, FloorItem
from atlas.gateway.api.notes import NoteItem
from atlas.gateway.api.reminders import ReminderItem
from atlas.gateway.api.rules import RuleItem
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.api.tasks import TaskItem
from atlas.gateway.api.timers import TimerItem
from atlas.gateway.api.voice_messages import VoiceMessage, WaitingVoiceMessage
from tools_server.tools.alarms import ALARM
from tools_server.tools.broadcast import BROADCAST
from tools_server.tools.calendar import EVENT
from tools_server.tools.history import CHANGE
from tools_server.tools.home import DEVICE, PLACE
from tools_server.tools.messages import MESSAGE, WAITING
from tools_server.tools.notes import NOTE
from tools_server.tools.reminders import REMINDER
from tools_server.tools.rules import RULE
from tools_server.tools.tasks import TASK
from tools_server.tools.timers import TIMER

ITEMS = {
    **{AlarmItem: ALARM, AnnouncementItem: BROADCAST, ChangeItem: CHANGE, DeviceItem: DEVICE, EventItem: EVENT},
    **{FloorItem: PLACE, NoteItem: NOTE, ReminderItem: REMINDER, RuleItem: RULE, TaskItem: TASK, TimerItem: TIMER},
    **{VoiceMessage: MESSAGE | {"seconds?": float}, WaitingVoiceMessage: WAITING},  # the house measures the sound
}


@pytest.mark.parametrize(("item", "schema"), ITEMS.items(), ids=[item.__name__ for item in ITEMS])
def test_an_item_has_the_fields_that_its_tool_sends(item: type[ApiReply], schema: Mapping[str, Any]) -> None:
    assert set(item.model_fields) == {name.rstrip("?") for name in schema}
    required = {name for name, field in item.model_fields.items() if field.is_required()}
    assert required <= set(schema), "what is not always sent needs a default"
