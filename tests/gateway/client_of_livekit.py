"""LiveKit's OpenAI Realtime plugin with one function, given a spoken question: prints what it was answered."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from livekit import rtc
from livekit.agents import llm
from livekit.plugins import openai

RATE = 24_000
SOUND = Path(sys.argv[1]).read_bytes()
STEP_BYTES = RATE // 50 * 2  # as a microphone: 20 ms


@llm.function_tool
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"raining in {city}"


async def main() -> None:
    model = openai.realtime.RealtimeModel(
        model="atlas", base_url=os.environ["ATLAS_URL"], api_key=os.environ["ATLAS_TOKEN"]
    )
    session = model.session()
    await session.update_instructions("Be brief.")
    await session.update_tools([weather])
    answer: asyncio.Queue[str] = asyncio.Queue()

    async def take(event: llm.GenerationCreatedEvent) -> None:
        async for message in event.message_stream:
            text = "".join([str(part) async for part in message.text_stream])
            frames = [frame async for frame in message.audio_stream]
            await answer.put(text if frames else "")
        async for call in event.function_stream:
            context = session.chat_ctx.copy()
            output = f"raining in {json.loads(call.arguments)['city']}"
            context.items.append(
                llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output=output, is_error=False)
            )
            await session.update_chat_ctx(context)
            session.generate_reply()

    tasks = set()
    session.on("generation_created", lambda event: tasks.add(asyncio.create_task(take(event))))

    for start in range(0, len(SOUND), STEP_BYTES):
        piece = SOUND[start : start + STEP_BYTES]
        session.push_audio(rtc.AudioFrame(piece, RATE, 1, len(piece) // 2))
        await asyncio.sleep(0.02)
    print("heard:", await asyncio.wait_for(answer.get(), 60))
    await session.aclose()
    await model.aclose()


asyncio.run(main())
