/** The drawings of the app: strokes on a field of 24 by 24. */

const STROKES = {
  talk: "M12 3.5a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0v-5a3 3 0 0 0-3-3ZM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3",
  home: "M3.5 11.5 12 4l8.5 7.5M6 9.8V20h12V9.8M10 20v-5h4v5",
  time: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2",
  timer: "M12 6a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM9.5 3h5M12 9.5v4l2.5 1.5",
  alarm: "M12 6a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM12 9v4l2.5 1.5M4 6.5 6.5 4M20 6.5 17.5 4M7 19l-1.5 2M17 19l1.5 2",
  bell: "M6.5 16V11a5.5 5.5 0 0 1 11 0v5l1.5 2h-14ZM10 20.5h4",
  lists: "M9 6.5h11M9 12h11M9 17.5h11M4.5 6.5h.01M4.5 12h.01M4.5 17.5h.01",
  board: "M4 5h4.5v14H4ZM9.8 5h4.5v9H9.8ZM15.6 5H20v11.5h-4.4Z",
  messages: "M4 5.5h16v11H11.5L7.5 20v-3.5H4ZM8 11h.01M12 11h.01M16 11h.01",
  notes: "M6 3.5h8.5L19 8v12.5H6ZM14 3.5V8h5M9 12h7M9 15.5h5",
  calendar: "M4.5 6h15v14h-15ZM4.5 10.5h15M8.5 3.5V7M15.5 3.5V7",
  past: "M4.5 5.5h15v11H11l-4 3.5v-3.5H4.5ZM8 9.5h8M8 12.5h5",
  move: "M4 8h13M13.5 4.5 17 8l-3.5 3.5M20 16H7M10.5 12.5 7 16l3.5 3.5",
  more: "M5 11h2v2H5ZM11 11h2v2h-2ZM17 11h2v2h-2Z",
  stop: "M7 7h10v10H7Z",
  send: "M12 19.5V5M5.5 11.5 12 5l6.5 6.5",
  sound: "M4 9.5v5h3.5L12 19V5L7.5 9.5ZM15.5 9a4 4 0 0 1 0 6M18 6.5a7.5 7.5 0 0 1 0 11",
  mute: "M4 9.5v5h3.5L12 19V5L7.5 9.5ZM16 9.5l5 5M21 9.5l-5 5",
  free: "M4 12h.01M8 8.5v7M12 5v14M16 8.5v7M20 12h.01",
  undo: "M8.5 5 4.5 9l4 4M4.5 9H14a5.5 5.5 0 0 1 0 11H9",
  check: "M5 12.5 10 17.5 19.5 7",
  close: "M6 6l12 12M18 6 6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  bin: "M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13M10 11v5M14 11v5",
  next: "M9 5.5 15.5 12 9 18.5",
  previous: "M15 5.5 8.5 12l6.5 6.5",
  search: "M11 4.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM16 16l4.5 4.5",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8v4.4M9 14.8v4.4",
  light: "M9 17.5h6M10 20.5h4M12 3.5a6 6 0 0 0-3.5 10.8c.5.5.8 1 .8 1.7h5.4c0-.7.3-1.2.8-1.7A6 6 0 0 0 12 3.5Z",
  plug: "M8 3.5V8M16 3.5V8M6 8h12v3a6 6 0 0 1-12 0ZM12 17v3.5",
  heat: "M10 13.5V5.5a2 2 0 0 1 4 0v8a4 4 0 1 1-4 0ZM12 10v6",
  cover: "M4.5 4.5h15M6 4.5v13M18 4.5v13M6 8h12M6 11h12M6 14h12M12 14v5",
  lock: "M6 11h12v9.5H6ZM8.5 11V8a3.5 3.5 0 0 1 7 0v3M12 14.5v2.5",
  window: "M5 3.5h14v17H5ZM12 3.5v17M5 12h14",
  door: "M6.5 20.5v-17h11v17M3.5 20.5h17M14 12.5h.01",
  scene: "M12 4v3M12 17v3M4 12h3M17 12h3M6.5 6.5l2 2M15.5 15.5l2 2M17.5 6.5l-2 2M8.5 15.5l-2 2",
  play: "M8 5.5v13l10-6.5Z",
  pause: "M9 6.5v11M15 6.5v11",
  weather: "M7.5 18.5a4 4 0 0 1 0-8 5 5 0 0 1 9.6 1.2 3.5 3.5 0 0 1-.6 6.8Z",
  shield: "M12 3.5 5 6v5.5c0 4.4 2.9 7.5 7 9 4.1-1.5 7-4.6 7-9V6ZM9 12l2.2 2.2L15.2 10",
  people:
    "M9 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM3.5 19.5a5.5 5.5 0 0 1 11 0M15.5 5.5a3 3 0 0 1 0 5.5M17 14.5a5.5 5.5 0 0 1 3.5 5",
  device: "M7.5 3.5h9v17h-9ZM11 17.5h2",
  pulse: "M3.5 12.5H8l2.5-7 4 13 2.5-6h3.5",
  away: "M4 4l16 16M8 12.5a6 6 0 0 1 2.5-1.4M5 9.5a10 10 0 0 1 3-2M12 6.5a10 10 0 0 1 7 3M12 18h.01",
  tool: "M12 3.5 14.4 9l5.9.5-4.5 3.9 1.4 5.8L12 16.1l-5.2 3.1 1.4-5.8-4.5-3.9L9.6 9Z",
} as const;

export type IconName = keyof typeof STROKES;

export function Icon({ name, size = 24 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      data-icon={name}
      viewBox="0 0 24 24"
      width={size}
      height={size}
      aria-hidden="true"
      focusable="false"
    >
      <path d={STROKES[name]} />
    </svg>
  );
}
