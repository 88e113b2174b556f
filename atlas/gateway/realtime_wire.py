"""Events of a session → messages of the Realtime protocol, in the documented order. Pure: it sends nothing.

OpenAI's Realtime API, general availability form: https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from atlas.audio import HEARING_RATE
from atlas.conversation import ToolCall, Usage, fresh_id
from atlas.errors import RequestError
from atlas.events import (
    Committed,
    End,
    Event,
    Hush,
    PartialWords,
    SpeechOut,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Transcribed,
    TurnEnded,
    TurnStarted,
    Woken,
)
from atlas.fields import Json
from atlas.gateway.realtime_items import Items, function_call_item, message_item
from atlas.gateway.realtime_responses import ResponseOptions
from atlas.gateway.realtime_sound import Outward
from atlas.gateway.wire import call_json

TRANSCRIPTION = "conversation.item.input_audio_transcription"
STATUS_OF_END: dict[End, str] = {
    "done": "completed",
    "interrupted": "cancelled",
    "cancelled": "cancelled",
    "length": "incomplete",
    "failed": "failed",
}
REASON_OF_END: dict[End, str] = {
    "interrupted": "turn_detected",
    "cancelled": "client_cancelled",
    "length": "max_output_tokens",
}


def message(kind: str, **fields: Any) -> Json:
    """Return one server event with an id of its own."""
    return {"type": kind, "event_id": fresh_id("event"), **fields}


def error(trouble: RequestError, event_id: str | None) -> Json:
    """Return the `error` event of a client event that could not be carried out."""
    text = f"{trouble}; {trouble.hint}" if trouble.hint else str(trouble)
    return message(
        "error",
        error={
            "type": "server_error" if trouble.code == "server_error" else "invalid_request_error",
            "code": trouble.code,
            "message": text[:1].upper() + text[1:],
            "param": trouble.param or None,
            "event_id": event_id,
        },
    )


def added_and_done(item: Json, before: str | None) -> list[Json]:
    """Return the two events of an item that is complete when it comes."""
    return [
        message("conversation.item.added", item=item, previous_item_id=before),
        message("conversation.item.done", item=item, previous_item_id=before),
    ]


def truncated(item_id: str, audio_end_ms: int) -> Json:
    """Return the event that says how much of an item was heard."""
    return message("conversation.item.truncated", item_id=item_id, content_index=0, audio_end_ms=audio_end_ms)


@dataclass(slots=True)
class Response:
    """A response that is under way."""

    id: str
    turn_id: str
    options: ResponseOptions
    agent: str
    reason: str
    outward: Outward
    item: Json | None = None  # once it has content
    transcript: str = ""
    hush: Hush | None = None
    calls: list[Json] = field(default_factory=list)  # items of calls that the client is to make


class SessionView:
    """One connection's view of its session: which items there are, which response is under way."""

    def __init__(
        self, conversation_id: str, defaults: Callable[[], ResponseOptions], voice: str, voice_rate: int
    ) -> None:
        self.items = Items()
        self.response: Response | None = None
        self.options_by_turn: dict[str, ResponseOptions] = {}  # by turn, for responses that the client asked for
        self.turn_of_item: dict[str, str] = {}  # spoken replies
        self.client_tools: frozenset[str] = frozenset()  # names
        self.transcribes = True  # the client wants to see what was understood
        self._conversation_id = conversation_id
        self._defaults = defaults
        self._voice = voice
        self._voice_rate = voice_rate
        self._interrupted: Response | None = None  # over, while its turn waits for what the client's tool says
        self._client_works = False  # on a call
        self._seconds: dict[str, float] = {}  # of utterances not transcribed yet

    def messages(self, event: Event, timings: Mapping[str, int]) -> list[Json]:
        """Return what to send for `event`, in order; `timings` are those of the turn so far, in milliseconds."""
        match event:
            case Woken(phrase):
                return [message("atlas.woken", phrase=phrase)]
            case SpeechStarted(utterance, at):
                start = {"audio_start_ms": _milliseconds(at), "item_id": _item_id(utterance)}
                return [message("input_audio_buffer.speech_started", **start)]
            case SpeechStopped(utterance, at):
                stop = {"audio_end_ms": _milliseconds(at), "item_id": _item_id(utterance)}
                return [message("input_audio_buffer.speech_stopped", **stop)]
            case PartialWords(utterance, text):
                place = {"item_id": _item_id(utterance), "content_index": 0}
                return [message(f"{TRANSCRIPTION}.delta", **place, delta=text)]
            case Committed():
                return self._committed(event)
            case Transcribed():
                return self._transcribed(event)
            case TurnStarted():
                return self._started(event)
            case TurnEnded():
                return self._ended(event, timings)
            case ToolFinished(call=call) if call.name in self.client_tools:
                self._client_works = False
                return []  # the client knows better what came of it
        # "One moment", said while the client works, opens no response: a stock client would first wait for its end.
        goes_on = isinstance(event, SpeechOut | TextDelta | ToolStarted) and not self._client_works
        resumed = self.resumed() if goes_on else []
        return [*resumed, *self._in_response(event)] if self.response is not None else []

    def _in_response(self, event: Event) -> list[Json]:
        response = self.response
        assert response is not None
        match event:
            case TextDelta(text) if response.options.modality == "text" and text:
                response.transcript += text
                return [*self._begun(), self._part("response.output_text.delta", delta=text)]
            case SpeechOut(audio, text):
                sound = response.outward.pack(audio)
                response.transcript += text
                kinds = {"output_audio_transcript": text, "output_audio": sound}
                deltas = [self._part(f"response.{kind}.delta", delta=delta) for kind, delta in kinds.items() if delta]
                return [*self._begun(), *deltas] if deltas else []
            case ToolStarted(call) if call.name in self.client_tools:
                return self._client_called(call)
            case ToolStarted(call):
                used = {"call_id": call.id, "name": call.name, "arguments": dict(call.arguments)}
                return [message("atlas.tool_started", response_id=response.id, **used)]
            case ToolFinished():
                return [message("atlas.tool_finished", response_id=response.id, **_result(event))]
            case Hush():
                response.hush = event
        return []

    # ── what was heard ─────────────────────────────────────────────────────────────────────────────

    def _committed(self, event: Committed) -> list[Json]:
        item_id = _item_id(event.utterance_id)
        item = message_item(item_id, "user", "completed", {"type": "input_audio", "transcript": None})
        before = self.items.add_own(item)
        self._seconds[item_id] = event.seconds
        return [
            message("input_audio_buffer.committed", item_id=item_id, previous_item_id=before),
            *added_and_done(item, before),
        ]

    def _transcribed(self, event: Transcribed) -> list[Json]:
        item_id = _item_id(event.utterance_id)
        seconds = self._seconds.pop(item_id, 0.0)
        if item_id in self.items:  # the client may have deleted it meanwhile
            self.items.get(item_id)["content"][0]["transcript"] = event.text
        if not self.transcribes:
            return []
        place = {"item_id": item_id, "content_index": 0}
        if event.error:
            trouble = {
                "type": "server_error",
                "code": "transcription_failed",
                "message": "the recogniser is not working right now",
                "param": None,
            }
            return [message(f"{TRANSCRIPTION}.failed", **place, error=trouble)]
        usage = {"type": "duration", "seconds": round(seconds, 3)}
        rest = event.text if event.rest is None else event.rest
        deltas = [message(f"{TRANSCRIPTION}.delta", **place, delta=rest)] if rest else []
        return [*deltas, message(f"{TRANSCRIPTION}.completed", **place, transcript=event.text, usage=usage)]

    # ── a response, from its start to its end ──────────────────────────────────────────────────────

    def _started(self, event: TurnStarted) -> list[Json]:
        options = self.options_by_turn.pop(event.turn_id, None) or self._defaults()
        outward = Outward(options.format["type"], self._voice_rate)
        identity = event.turn_id.replace("turn_", "resp_")
        self.response = Response(identity, event.turn_id, options, event.agent, event.reason, outward)
        return [message("response.created", response=self._response("in_progress"))]

    def _begun(self) -> list[Json]:
        """Open the item of the response, before its first content."""
        response = self.response
        assert response is not None
        if response.item is not None:
            return []
        spoken = response.options.modality == "audio"
        if spoken:
            part, content = {"type": "audio", "transcript": ""}, {"type": "output_audio", "transcript": ""}
        else:
            part, content = {"type": "text", "text": ""}, {"type": "output_text", "text": ""}
        response.item = message_item(response.id.replace("resp_", "item_"), "assistant", "in_progress", content)
        empty = response.item | {"content": []}
        opened = [message("response.output_item.added", response_id=response.id, output_index=0, item=empty)]
        if response.options.in_conversation:
            before = self.items.add_own(response.item)
            opened.append(message("conversation.item.added", item=empty, previous_item_id=before))
        if spoken:
            self.turn_of_item[response.item["id"]] = response.turn_id
        return [*opened, self._part("response.content_part.added", part=part)]

    def _client_called(self, call: ToolCall) -> list[Json]:
        """Tell of a call that the client is to make, and end the response: its turn goes on in another."""
        response = self.response
        assert response is not None
        item_id, place = fresh_id("item"), int(response.item is not None) + len(response.calls)
        item = function_call_item(item_id, "completed", call)
        begun = function_call_item(item_id, "in_progress", call)
        part = {"response_id": response.id, "item_id": item_id, "output_index": place, "call_id": call.id}
        before = self.items.add_own(item)
        response.calls.append(item)
        closing = self._closed(TurnEnded(response.turn_id, "done", "", "model")) if response.item else []
        done = self._response("completed") | {"output": self._output()}
        self._interrupted, self.response, self._client_works = response, None, True
        return [
            message("response.output_item.added", response_id=response.id, output_index=place, item=begun),
            message("conversation.item.added", item=begun, previous_item_id=before),
            message("response.function_call_arguments.delta", **part, delta=item["arguments"]),
            message("response.function_call_arguments.done", **part, name=call.name, arguments=item["arguments"]),
            message("response.output_item.done", response_id=response.id, output_index=place, item=item),
            message("conversation.item.done", item=item, previous_item_id=before),
            *closing,
            message("response.done", response=done),
            message("rate_limits.updated", rate_limits=[]),
        ]

    def resumed(self) -> list[Json]:
        """Begin the response in which a turn goes on that has waited for the client's tool; nothing, where none did."""
        before, self._interrupted = self._interrupted, None
        if before is None:
            return []
        outward = Outward(before.options.format["type"], self._voice_rate)
        identity = fresh_id("resp")
        self.response = Response(identity, before.turn_id, before.options, before.agent, before.reason, outward)
        return [message("response.created", response=self._response("in_progress"))]

    def _output(self) -> list[Json]:
        response = self.response
        assert response is not None
        return [*([response.item] if response.item is not None else []), *response.calls]

    def _ended(self, event: TurnEnded, timings: Mapping[str, int]) -> list[Json]:
        resumed = self.resumed() if event.end != "cancelled" and event.end != "interrupted" else []
        self._interrupted, self._client_works = None, False
        response = self.response
        if response is None:
            return []
        closing = self._closed(event) if response.item is not None else []
        turn = {"response_id": response.id, "agent": response.agent, "reason": response.reason, "path": event.path}
        done = self._response(STATUS_OF_END[event.end]) | {
            "status_details": _details(event.end),
            "output": self._output(),
            "usage": _usage(event.usage),
        }
        self.response = None
        return [
            *resumed,
            *closing,
            message("atlas.turn", **turn),
            message("atlas.timings", response_id=response.id, path=event.path, milliseconds=dict(timings)),
            message("response.done", response=done),
            message("rate_limits.updated", rate_limits=[]),  # a house has none
        ]

    def _closed(self, event: TurnEnded) -> list[Json]:
        """Close the content and the item; what was not heard is cut from the item."""
        response = self.response
        assert response is not None
        assert response.item is not None
        item, spoken = response.item, response.options.modality == "audio"
        cut = response.hush if spoken else None
        item["status"] = "completed" if event.end == "done" else "incomplete"
        item["content"][0]["transcript" if spoken else "text"] = cut.heard if cut else response.transcript
        last = self._last_content(spoken)
        ended = message("response.output_item.done", response_id=response.id, output_index=0, item=item)
        closing = [*last, ended]
        if response.options.in_conversation:
            before = self.items.before(item["id"])
            closing.append(message("conversation.item.done", item=item, previous_item_id=before))
            if cut:
                closing.append(truncated(item["id"], cut.played_ms))
        return closing

    def _last_content(self, spoken: bool) -> list[Json]:
        response = self.response
        assert response is not None
        text = response.transcript
        if not spoken:
            return [
                self._part("response.output_text.done", text=text),
                self._part("response.content_part.done", part={"type": "text", "text": text}),
            ]
        rest = "" if response.hush else response.outward.rest()
        return [
            *([self._part("response.output_audio.delta", delta=rest)] if rest else []),
            self._part("response.output_audio.done"),
            self._part("response.output_audio_transcript.done", transcript=text),
            self._part("response.content_part.done", part={"type": "audio", "transcript": text}),
        ]

    def _part(self, kind: str, **fields: Any) -> Json:
        response = self.response
        assert response is not None
        item_id = response.id.replace("resp_", "item_")
        return message(kind, response_id=response.id, item_id=item_id, output_index=0, content_index=0, **fields)

    def _response(self, status: str) -> Json:
        response = self.response
        assert response is not None
        options = response.options
        return {
            "id": response.id,
            "object": "realtime.response",
            "status": status,
            "status_details": None,
            "output": [],
            "conversation_id": self._conversation_id if options.in_conversation else None,
            "output_modalities": [options.modality],
            "max_output_tokens": options.max_output_tokens,
            "audio": {"output": {"format": options.format, "voice": self._voice}},
            "usage": None,
            "metadata": dict(options.metadata) if options.metadata else None,
        }


def _item_id(utterance_id: str) -> str:
    return utterance_id.replace("utt_", "item_")


def _milliseconds(samples: int) -> int:
    return samples * 1000 // HEARING_RATE


def _result(event: ToolFinished) -> Json:
    call, result = event.call, event.result
    more = {"call_id": call.id, "data": dict(result.data), "error": result.error or None}
    return call_json(call, result) | more


def _details(end: End) -> Json | None:
    status = STATUS_OF_END[end]
    if end == "done":
        return None
    if end == "failed":
        trouble = {
            "type": "server_error",
            "code": "reply_failed",
            "message": "a part of the house that the reply needed is not working",
        }
        return {"type": status, "error": trouble}
    return {"type": status, "reason": REASON_OF_END[end]}


def _usage(usage: Usage) -> Json:
    cached = {"text_tokens": usage.cached, "audio_tokens": 0, "image_tokens": 0}
    return {
        "total_tokens": usage.prompt + usage.completion,
        "input_tokens": usage.prompt,
        "output_tokens": usage.completion,
        "input_token_details": {
            "text_tokens": usage.prompt,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": usage.cached,
            "cached_tokens_details": cached,
        },
        "output_token_details": {"text_tokens": usage.completion, "audio_tokens": 0},
    }
