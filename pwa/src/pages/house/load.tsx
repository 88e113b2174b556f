/** How busy the machine is: a line for each thing that can be short, drawn on while somebody looks. */

import { useEffect, useState } from "preact/hooks";
import type { LoadItem, LoadReply } from "../../api.ts";
import { HouseTrouble, request } from "../../house/api.ts";
import { bytesOf, numberOf } from "../../parts/amounts.ts";
import { words } from "../../strings/index.ts";

const SHOWN = 150; // samples: five minutes
const WIDTH = 300;
const HEIGHT = 64;

/** Ask for what is new, as often as there is something new, while the page is seen. */
function useLoad(): LoadReply | null {
  const [load, setLoad] = useState<LoadReply | null>(null);
  useEffect(() => {
    let known: LoadItem[] = [];
    let timer = 0;
    let over = false;
    async function look(): Promise<void> {
      let pause = 2;
      try {
        if (!document.hidden) {
          const reply = await request<LoadReply>(`/api/load?since=${known.at(-1)?.at ?? 0}`);
          if (over) return;
          known = [...known, ...reply.samples].slice(-SHOWN);
          pause = reply.every_seconds;
          setLoad({ ...reply, samples: known });
        }
      } catch (trouble) {
        if (!(trouble instanceof HouseTrouble)) throw trouble; // the line says how the house is
      }
      if (!over) timer = setTimeout(look, pause * 1000);
    }
    void look();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, []);
  return load;
}

export function Load() {
  const load = useLoad();
  const say = words.value.house.load;
  const last = load?.samples.at(-1);
  return (
    <section aria-labelledby="load">
      <h2 id="load">{say.title}</h2>
      {load && last ? <Plots load={load} last={last} /> : <p class="soft">{say.soon}</p>}
    </section>
  );
}

function Plots({ load, last }: { load: LoadReply; last: LoadItem }) {
  const say = words.value.house.load;
  const { samples, every_seconds: every } = load;
  const share = (value: number) =>
    value.toLocaleString(words.value.language, { style: "percent", maximumFractionDigits: 0 });
  return (
    <ul class="plots">
      <Plot
        title={say.processor(load.cores)}
        values={samples.map(({ processor }) => processor)}
        most={1}
        spell={share}
        every={every}
      />
      <Plot
        title={say.memory(bytesOf(load.memory_bytes))}
        values={samples.map(({ used_bytes }) => used_bytes)}
        most={load.memory_bytes}
        spell={bytesOf}
        every={every}
      />
      {last.cards.map((card, at) => [
        card.busy !== null && (
          <Plot
            key={`${at} busy`}
            title={card.name}
            values={samples.map(({ cards }) => cards[at]?.busy ?? 0)}
            most={1}
            spell={share}
            every={every}
          />
        ),
        <Plot
          key={`${at} memory`}
          title={say.cardMemory(card.name, bytesOf(card.memory_bytes))}
          values={samples.map(({ cards }) => cards[at]?.used_bytes ?? 0)}
          most={card.memory_bytes}
          spell={bytesOf}
          every={every}
        />,
      ])}
      {Object.keys(last.tokens_per_second).map((model) => {
        const values = samples.map(({ tokens_per_second: speeds }) => speeds[model] ?? 0);
        return (
          <Plot
            key={model}
            title={say.speed(model)}
            values={values}
            most={Math.max(10, ...values)}
            spell={(value) => (value ? numberOf(value) : say.silent)}
            every={every}
          />
        );
      })}
    </ul>
  );
}

interface PlotProperties {
  title: string;
  values: number[];
  most: number; // the height of the plot
  spell: (value: number) => string;
  every: number; // seconds between two values
}

function Plot({ title, values, most, spell, every }: PlotProperties) {
  const say = words.value.house.load;
  const now = spell(values.at(-1) ?? 0);
  const [least, highest] = [spell(Math.min(...values)), spell(Math.max(...values))];
  const minutes = Math.max(1, Math.round((values.length * every) / 60));
  const step = WIDTH / (SHOWN - 1);
  const points = values.map((value, at) => {
    const x = WIDTH - (values.length - 1 - at) * step;
    return `${x.toFixed(1)},${(HEIGHT - 2 - (value / (most || 1)) * (HEIGHT - 4)).toFixed(1)}`;
  });
  const begin = WIDTH - (values.length - 1) * step;
  return (
    <li class="card plot">
      <p class="soft">{title}</p>
      <p class="figure">
        {now}
        {least !== highest && <span class="soft">{say.range(least, highest)}</span>}
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={say.summary(title, now, least, highest, minutes)}
      >
        <path class="middle-line" d={`M0 ${HEIGHT / 2}H${WIDTH}`} />
        <polygon points={`${begin.toFixed(1)},${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
        <polyline points={points.join(" ")} />
      </svg>
      <p class="soft axis" aria-hidden="true">
        <span>{say.ago((SHOWN * every) / 60)}</span>
        <span>{say.now}</span>
      </p>
    </li>
  );
}
