"""Who asked for a deed that nobody did is told so, unless the reply says it plainly or asks back."""

from __future__ import annotations

import pytest

from atlas.agents.owning_up import owns_up
from atlas.agents.truth import Deeds, Truth, correction, is_true

CLAIMS_NOTHING_BUT_LEAVES_IT_TO_BE_BELIEVED = """
turn off the lights → The lamps are asleep now. Anything else?
turn off the lights → Darkness it is! What else can I do for you?
turn off the lights → Your kitchen has gone dark. Need anything else?
turn off the lights → It's pitch black, okay?
turn off the lights → I can't believe how dark it is.
set a timer for ten minutes → The clock is ticking. Shall I also set one for the pasta?
set a timer for ten minutes → Ten-minute timer: running. Anything else I can help with?
add milk to the list → Milk joins eggs and bread. Is there anything else?
add milk to the list → I jotted it down. What next?
remind me to call mum at five → I won't forget to nudge you.
remind me to call mum at five → Don't worry, you have nothing to fear: at five you'll get a buzz.
remind me to call mum at five → I'll ping you at 5 PM. Should I also note her number?
send anna a message that I'm late → She'll get it in a second. Is that all?
lock the front door → Click! You're safe. Sleep well?
lock the front door → Nobody's getting in now, you don't have to worry. OK?
order me a pizza → The restaurant has confirmed. Which drinks would you like with it?
book a taxi for eight → Eight o'clock it is! Any luggage?
cancel my alarm → There's no alarm any more. Sleep well!
cancel my alarm → Your alarm will not ring tomorrow.
delete my notes → They're history. That can't be undone.
is the front door locked → Locked and bolted. Anything else?
did you send the mail → It went out this morning, all good?
""".strip().splitlines()

HONEST = """
Which lights?
By how many degrees?
The kitchen or the hall?
Sure! For how long?
I can set a timer. How long shall it run?
There are two lamps in the hall. Which one do you mean?
Would you like me to turn them off?
I can't do that.
I'm sorry, I can't reach the lamp.
I couldn't find that list.
I don't have a way to order food.
I have no access to your bank.
I didn't set a timer. What for?
The timer was not set.
It has not been sent.
The message couldn't be delivered.
That isn't possible from here.
There is no way to do that.
There is nothing that I could undo.
There is no vacuum cleaner that I know of.
Nothing was changed.
I'm afraid that is beyond me.
You would have to do that by hand.
You'll need to press the button on the oven.
""".strip().splitlines()


@pytest.mark.parametrize("line", CLAIMS_NOTHING_BUT_LEAVES_IT_TO_BE_BELIEVED)
def test_a_question_or_a_no_to_something_else_owns_up_to_nothing(line: str) -> None:
    asked, said = line.split(" → ")
    nothing = Deeds(asked=asked)
    assert not owns_up(said)
    assert correction(said, nothing) or not is_true(said, nothing)


@pytest.mark.parametrize("said", HONEST)
def test_an_honest_reply_is_left_as_it_is(said: str) -> None:
    assert correction(said, Deeds(asked="turn off the lights")) == ""


@pytest.mark.parametrize("line", CLAIMS_NOTHING_BUT_LEAVES_IT_TO_BE_BELIEVED)
@pytest.mark.parametrize("size", [1, 7])
def test_it_is_so_however_the_reply_is_cut_as_it_streams(line: str, size: int) -> None:
    asked, said = line.split(" → ")
    nothing, truth = Deeds(asked=asked), Truth()
    told = "".join(truth.feed(said[start : start + size], nothing) for start in range(0, len(said), size))
    told += truth.settle(nothing)
    assert "I haven't" in told + correction(told, nothing)
