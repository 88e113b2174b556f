"""Pipecat's OpenAI Realtime service with one function, given a spoken question: prints what it was answered."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from pipecat.adapters.schemas.function_schema import FunctionSchema
from pipecat.adapters.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import Frame, InputAudioRawFrame, TTSAudioRawFrame, TTSTextFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineParams, PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime import events
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService

RATE = 24_000
SOUND = Path(sys.argv[1]).read_bytes()
STEP_BYTES = RATE // 50 * 2  # as a microphone: 20 ms
WEATHER = FunctionSchema("weather", "The weather in a city.", {"city": {"type": "string"}}, ["city"])


class Listener(FrameProcessor):
    """Notes what would be heard."""

    def __init__(self, over: asyncio.Event) -> None:
        super().__init__()
        self._over = over
        self.words = ""
        self.sound_bytes = 0

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.sound_bytes += len(frame.audio)
        if isinstance(frame, TTSTextFrame):
            self.words += frame.text
        if "." in self.words and self.sound_bytes:
            self._over.set()
        await self.push_frame(frame, direction)


async def weather(call: Any) -> None:
    await call.result_callback(f"raining in {call.arguments['city']}")


async def main() -> None:
    session = events.SessionProperties(instructions="Be brief.")
    llm = OpenAIRealtimeLLMService(
        api_key=os.environ["ATLAS_TOKEN"],
        base_url=f"{os.environ['ATLAS_URL']}/realtime",
        settings=OpenAIRealtimeLLMService.Settings(model="atlas", session_properties=session),
    )
    llm.register_function("weather", weather)
    pair = LLMContextAggregatorPair(LLMContext([], ToolsSchema([WEATHER])))
    over = asyncio.Event()
    listener = Listener(over)
    task = PipelineTask(
        Pipeline([pair.user(), llm, listener, pair.assistant()]),
        params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
    )

    async def speak() -> None:

        for start in range(0, len(SOUND), STEP_BYTES):
            await task.queue_frame(InputAudioRawFrame(SOUND[start : start + STEP_BYTES], RATE, 1))
            await asyncio.sleep(0.02)
        await asyncio.wait_for(over.wait(), 60)
        await task.cancel()

    await asyncio.gather(PipelineRunner(handle_sigint=False).run(task), speak())
    print("heard:", listener.words)


asyncio.run(main())
