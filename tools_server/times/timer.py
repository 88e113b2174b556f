"""One timer, and what is said of it and of several. Pure; times in seconds since 1970."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tools_server.sdk.wording import NAMED, capital, choices, some
from tools_server.values.language import current, in_context, length, noun, parts_of, speaking
from tools_server.values.language import text as _
from tools_server.values.noun_phrases import place

JUST_SECONDS = 30  # said a moment late, it is still now
MISSED_SECONDS = 120  # said this late, it did not ring when it should have


@dataclass(frozen=True, slots=True)
class Timer:
    """One row."""

    id: str
    name: str
    room: str
    device: str  # its `device_key`, for another may get its name
    person: str
    seconds: int
    deadline: float | None
    left_seconds: float | None
    set_at: float
    announced_at: float | None = None
    role: str = ""
    ringing: int = 0  # announced, and it rings on until somebody stops it
    language: str = ""  # in which it was set, and rings

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self.deadline is None

    def left(self, now: float) -> float:
        """Return the seconds left; negative when it has ended.

        A clock that was set back cannot make a timer longer than it ever was: what is left is at most what was left
        when its deadline was set.
        """
        if self.deadline is None:
            return self.left_seconds or 0.0
        return min(self.deadline - now, self.deadline - self.set_at)

    def ended(self, now: float) -> bool:
        """Whether it has run out."""
        return not self.paused and self.left(now) <= 0

    def announced(self, now: float, *, ringing: bool = False) -> Timer:
        """Return it once its end was told, the first time: ringing on until somebody stops it, or over."""
        return replace(self, announced_at=now if self.announced_at is None else self.announced_at, ringing=int(ringing))

    @property
    def missed(self) -> bool:
        """Whether it was told so late that it may as well not have rung."""
        if self.announced_at is None or self.deadline is None:
            return False
        return self.announced_at - self.deadline >= MISSED_SECONDS

    @property
    def label(self) -> str:
        """What to call it when there is no other: "pizza timer", "10 minute timer"."""
        return _("{name} timer").format(name=noun(self.name) or adjective(self.seconds))

    def sentence(self, label: str, now: float) -> str:
        """Return how long it has left."""
        if self.ended(now):
            return self.ended_sentence(label, now)
        duration = length(self.left(now))
        if self.paused:
            return _("Your {label} is paused with {duration} left.").format(label=label, duration=duration)
        return _("Your {label} has {duration} left.").format(label=label, duration=duration)

    def ended_sentence(self, label: str, now: float) -> str:
        """Return that it is done, or how long ago it was."""
        late = -self.left(now)
        if late < JUST_SECONDS:
            return _("Your {label} is done.").format(label=label)
        return _("Your {label} ended {length} ago.").format(label=label, length=length(late // 60 * 60 or late))

    def saying(self, among: Sequence[Timer], now: float) -> dict[str, Any]:
        """Return one that has ended as the house rings it, in the language in which it was set."""
        with speaking(self.language):
            text, language = self.ended_sentence(labels(among)[self.id], now), current()
        return {
            **{name: getattr(self, name) for name in ("id", "name", "room", "device", "person", "seconds")},
            **{"ended_at": self.deadline, "late_seconds": round(-self.left(now), 3), "text": text},
            "language": language,
        }

    def shown(self, now: float) -> dict[str, Any]:
        """Return it as data."""
        return {
            **{name: getattr(self, name) for name in ("id", "name", "room", "seconds", "set_at")},
            "left_seconds": round(max(0.0, self.left(now)), 3),
            "state": "paused" if self.paused else "ended" if self.ended(now) else "running",
            "ends_at": self.deadline,
        }


def plain_name(name: str) -> str:
    """Return a name as timers keep it: "my Pizza Timer" → "pizza", "Nudeltimer" → "nudel"."""
    words = ["".join(c for c in word if c.isprintable()) for word in name.casefold().split()]
    while words and words[0] in ("a", "an", "the", "my", "our"):
        words = words[1:]
    while words and words[-1] in ("timer", "timers"):
        words = words[:-1]
    if words:
        words[-1] = words[-1].removesuffix("timer").rstrip("-")
    return " ".join(word for word in words if word)


def plain_room(room: str) -> str:
    """Return a room as timers keep it: "the Kitchen" → "Kitchen"."""
    words = room.split()
    return " ".join(words[1:] if len(words) > 1 and words[0].casefold() == "the" else words)


def adjective(seconds: float) -> str:
    """Return "1 hour 30 minute", as in "your 1 hour 30 minute timer"."""
    return in_context("between parts of a name", " ").join(_adjective(count, unit) for count, unit in parts_of(seconds))


def _adjective(count: int, unit: str) -> str:
    match unit:
        case "day":
            form = in_context("part of a name", "{count} day")
        case "hour":
            form = in_context("part of a name", "{count} hour")
        case "minute":
            form = in_context("part of a name", "{count} minute")
        case _:
            form = in_context("part of a name", "{count} second")
    return form.format(count=count)


def labels(timers: Sequence[Timer]) -> dict[str, str]:
    """Return id → what to call each: "pizza timer".

    With its room where several rooms have one that would be called the same, and with its length where one room has
    several of a name.
    """
    rooms: dict[str, set[str]] = {}
    for timer in timers:
        rooms.setdefault(timer.label, set()).add(timer.room)
    placed = {timer.id: _placed(timer, timer.label, rooms[timer.label]) for timer in timers}
    lengths: dict[str, set[int]] = {}
    for timer in timers:
        lengths.setdefault(placed[timer.id], set()).add(timer.seconds)
    told_apart = {timer.id: len(lengths[placed[timer.id]]) > 1 for timer in timers}
    return {
        timer.id: _("{length} {timer}").format(length=adjective(timer.seconds), timer=placed[timer.id])
        if told_apart[timer.id]
        else placed[timer.id]
        for timer in timers
    }


def _placed(timer: Timer, label: str, rooms: set[str]) -> str:
    return (
        label
        if len(rooms) < 2 or not timer.room
        else _("{label} in {room:the}").format(label=label, room=place(noun(timer.room)))
    )


def which(timers: Sequence[Timer], among: Sequence[Timer], now: float) -> str:
    """Return the question which of some timers is meant; those that are called the same by what they have left."""
    called = labels(among)
    times = Counter(called[timer.id] for timer in timers)
    named = [
        _("the {called}").format(called=called[timer.id])
        + (_(" with {duration} left").format(duration=length(timer.left(now))) if times[called[timer.id]] > 1 else "")
        for timer in timers[:NAMED]
    ]
    return _("Which timer: {series}?").format(series=choices(named, len(timers) - NAMED))


def timers_text(timers: Sequence[Timer], now: float) -> str:
    """Return what is said of all of them: of the first few how long each has left, of the others how many they are."""
    if not timers:
        return _("There are no timers.")
    called = labels(timers)
    sentences = [timer.sentence(called[timer.id], now) for timer in timers[:NAMED]]
    if len(timers) == 1:
        return sentences[0]
    rest = [_("And {count} more.").format(count=len(timers) - NAMED)] if len(timers) > NAMED else []
    return " ".join([_("There are {count} timers.").format(count=len(timers)), *sentences, *rest])


def back_text(back: Sequence[Timer], after: Sequence[Timer], now: float) -> str:
    """Return what is said of timers that are put `back` in the place of those that were there `after` a change."""
    if not back:
        return (
            _("{plain_label} cancelled.").format(plain_label=capital(after[0].label))
            if len(after) == 1
            else _("{count} timers cancelled.").format(count=len(after))
        )
    if len(back) == 1:
        label = back[0].label
        late = -back[0].left(now)
        if back[0].ended(now) and late < JUST_SECONDS:
            return _("Your {timer} is back, but it is done.").format(timer=label)
        if back[0].ended(now):
            return _("Your {timer} is back, but it ended {length} ago.").format(
                timer=label, length=length(late // 60 * 60 or late)
            )
        if back[0].paused:
            form = _("Your {timer} is as it was, paused with {length} left.")
            form = form if after else _("Your {timer} is back, paused with {length} left.")
        else:
            form = _("Your {timer} is as it was, with {length} left.")
            form = form if after else _("Your {timer} is back, with {length} left.")
        return form.format(timer=label, length=length(back[0].left(now)))
    called = labels(back)
    sentences = [timer.ended_sentence(called[timer.id], now) for timer in back if timer.ended(now)]
    return " ".join([_("{count} timers are back.").format(count=len(back)), *sentences])


def what_there_is(timers: Sequence[Timer]) -> str:
    """Return "There is a pizza timer and an 8 minute timer."."""
    called = labels(timers)
    return _("There is {some}.").format(some=some(_indefinite(called[timer.id]) for timer in timers))


def _indefinite(label: str) -> str:
    an = label[:1] in "aeiou" or label.startswith(("8", "11 ", "18 "))
    return (_("an {timer}") if an else _("a {timer}")).format(timer=label)
