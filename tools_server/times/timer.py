"""One timer, and what is said of it and of several. Pure; times in seconds since 1970."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tools_server.wording import NAMED, series, some


@dataclass(frozen=True, slots=True)
class Timer:
    """One row."""

    id: str
    name: str
    room: str
    device: str
    person: str
    seconds: int
    deadline: float | None
    left_seconds: float | None
    set_at: float
    announced_at: float | None = None

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


def plain_name(name: str) -> str:
    """Return a name as timers keep it: "my Pizza Timer" → "pizza"."""
    words = ["".join(c for c in word if c.isprintable()) for word in name.casefold().split()]
    while words and words[0] in ("a", "an", "the", "my", "our"):
        words = words[1:]
    while words and words[-1] in ("timer", "timers"):
        words = words[:-1]
    return " ".join(word for word in words if word)


def plain_room(room: str) -> str:
    """Return a room as timers keep it: "the Kitchen" → "Kitchen"."""
    words = room.split()
    return " ".join(words[1:] if len(words) > 1 and words[0].casefold() == "the" else words)


_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def _parts(seconds: float) -> list[tuple[int, str]]:
    whole = max(0, round(seconds))
    parts = []
    for size, unit in _UNITS:
        count, whole = divmod(whole, size)
        if count:
            parts.append((count, unit))
    return parts or [(0, "second")]


def duration(seconds: float) -> str:
    """Return "9 minutes and 54 seconds"."""
    return series([f"{count} {unit}" if count == 1 else f"{count} {unit}s" for count, unit in _parts(seconds)], "and")


def adjective(seconds: float) -> str:
    """Return "1 hour 30 minute", as in "your 1 hour 30 minute timer"."""
    return " ".join(f"{count} {unit}" for count, unit in _parts(seconds))


def labels(timers: Sequence[Timer]) -> dict[str, str]:
    """Return id → what to call each: "pizza timer".

    With its room where several rooms have one that would be called the same, and with its length where one room has
    several of a name.
    """
    rooms: dict[str, set[str]] = {}
    for timer in timers:
        rooms.setdefault(plain_label(timer), set()).add(timer.room)
    placed = {timer.id: _placed(timer, plain_label(timer), rooms[plain_label(timer)]) for timer in timers}
    lengths: dict[str, set[int]] = {}
    for timer in timers:
        lengths.setdefault(placed[timer.id], set()).add(timer.seconds)
    told_apart = {timer.id: len(lengths[placed[timer.id]]) > 1 for timer in timers}
    return {
        timer.id: f"{adjective(timer.seconds)} {placed[timer.id]}" if told_apart[timer.id] else placed[timer.id]
        for timer in timers
    }


def _placed(timer: Timer, label: str, rooms: set[str]) -> str:
    return f"{label} in the {timer.room}" if len(rooms) > 1 and timer.room else label


def plain_label(timer: Timer) -> str:
    """Return what to call a timer when there is no other: "pizza timer", "10 minute timer"."""
    return f"{timer.name or adjective(timer.seconds)} timer"


def which(found: Sequence[Timer], among: Sequence[Timer], now: float) -> str:
    """Return the question which of some timers is meant; those that are called the same by what they have left."""
    called = labels(among)
    times = Counter(called[timer.id] for timer in found)
    named = [
        f"the {called[timer.id]}" + (f" with {duration(timer.left(now))} left" if times[called[timer.id]] > 1 else "")
        for timer in found[:NAMED]
    ]
    if more := len(found) - NAMED:
        named += [f"one of {more} more"] if more > 0 else []
    return f"Which timer: {series(named, 'or')}?"


def sentence(timer: Timer, label: str, now: float) -> str:
    """Return how long a timer has left."""
    if timer.ended(now):
        return ended_sentence(timer, label, now)
    if timer.paused:
        return f"Your {label} is paused with {duration(timer.left(now))} left."
    return f"Your {label} has {duration(timer.left(now))} left."


def ended_sentence(timer: Timer, label: str, now: float) -> str:
    """Return that a timer is done, or how long ago it was."""
    late = -timer.left(now)
    if late < 30:  # said a moment late, it is still now
        return f"Your {label} is done."
    return f"Your {label} ended {duration(late if late < 60 else late // 60 * 60)} ago."


def told(timers: Sequence[Timer], now: float) -> str:
    """Return what is said of all of them: of the first few how long each has left, of the others how many they are."""
    if not timers:
        return "There are no timers."
    called = labels(timers)
    sentences = [sentence(timer, called[timer.id], now) for timer in timers[:NAMED]]
    if len(timers) == 1:
        return sentences[0]
    rest = [f"And {len(timers) - NAMED} more."] if len(timers) > NAMED else []
    return " ".join([f"There are {len(timers)} timers.", *sentences, *rest])


def what_there_is(timers: Sequence[Timer]) -> str:
    """Return "There is a pizza timer and an 8 minute timer."."""
    called = labels(timers)
    return f"There is {some(_indefinite(called[timer.id]) for timer in timers)}."


def _indefinite(label: str) -> str:
    return f"{'an' if label[:1] in 'aeiou' or label.startswith(('8', '11 ', '18 ')) else 'a'} {label}"
