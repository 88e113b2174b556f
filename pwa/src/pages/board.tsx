/** Board: tasks in columns, moved by dragging, by "Move to…", or by Ctrl and an arrow. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { BoardReply, TaskItem } from "../api.ts";
import { agentQuery } from "../house/agent.ts";
import { act, attempt } from "../house/deeds.ts";
import { useLive } from "../house/live.ts";
import { refusalOf } from "../house/refused.ts";
import { AgentSwitch } from "../parts/agent-switch.tsx";
import { Allowed } from "../parts/allowed.tsx";
import { TextField } from "../parts/fields.tsx";
import { useFormResult } from "../parts/form-result.ts";
import { FormTrouble } from "../parts/form-trouble.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Sheet } from "../parts/sheet.tsx";
import { dateOf } from "../parts/when.ts";
import { WordsForm } from "../parts/words-form.tsx";
import { words } from "../strings/index.ts";

type Column = keyof typeof words.value.board.columns;

const idOf = (task: TaskItem) => task.id || task.title;

async function move(task: TaskItem, column: string): Promise<boolean> {
  if (column === task.column) return false;
  return Boolean(await act("PATCH", `/api/tasks/${encodeURIComponent(idOf(task))}${agentQuery("?")}`, { column }));
}

export function Board() {
  const live = useLive<BoardReply>(`/api/tasks${agentQuery("?")}`, "tasks");
  const say = words.value.board;
  const dragged = useSignal<TaskItem | null>(null);
  const moved = useRef("");
  const [shown, setShown] = useState<string | null>(null);
  return (
    <div class="page wide">
      <h1>{words.value.pages.board}</h1>
      <AgentSwitch label={words.value.talk.whosePapers} />
      <Allowed tool="tasks.add">
        <WordsForm
          label={say.add}
          placeholder={say.example}
          onAdd={(title) => act("POST", `/api/tasks${agentQuery("?")}`, { title })}
        />
      </Allowed>
      <Loaded live={live}>
        {({ columns, tasks }) => {
          const open = tasks.find((task) => idOf(task) === shown);
          return (
            <>
              <div class="board">
                {columns.map((column) => (
                  <section
                    key={column}
                    class="column"
                    aria-label={say.columns[column as Column] ?? column}
                    data-over={dragged.value !== null && dragged.value.column !== column}
                    onDragOver={(event) => event.preventDefault()}
                    onDrop={(event) => {
                      event.preventDefault();
                      if (dragged.value) void move(dragged.value, column);
                      dragged.value = null;
                    }}
                  >
                    <h2>
                      {say.columns[column as Column] ?? column}
                      <span class="count">{tasks.filter((task) => task.column === column).length}</span>
                    </h2>
                    <ul>
                      {tasks
                        .filter((task) => task.column === column)
                        .map((task) => (
                          <Card
                            key={idOf(task)}
                            task={task}
                            columns={columns}
                            onOpen={() => setShown(idOf(task))}
                            dragged={dragged}
                            moved={moved}
                          />
                        ))}
                    </ul>
                  </section>
                ))}
              </div>
              {open && <TaskSheet task={open} columns={columns} onClose={() => setShown(null)} />}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

interface CardProperties {
  task: TaskItem;
  columns: string[];
  onOpen: () => void;
  dragged: { value: TaskItem | null };
  moved: { current: string }; // the card that was moved without a mouse, until it has the focus again in its new column
}

function Card({ task, columns, onOpen, dragged, moved }: CardProperties) {
  const at = columns.indexOf(task.column);
  const title = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (moved.current !== idOf(task)) return;
    moved.current = "";
    title.current?.focus();
  }, []);
  async function follow(column: string): Promise<void> {
    moved.current = idOf(task);
    if (!(await move(task, column))) moved.current = "";
  }
  return (
    <li
      class="card task"
      data-priority={task.priority}
      draggable={!refusalOf("tasks.move")}
      onDragStart={(event) => {
        event.dataTransfer?.setData("text/plain", task.title);
        dragged.value = task;
      }}
      onDragEnd={() => {
        dragged.value = null;
      }}
    >
      <button
        ref={title}
        type="button"
        class="task-title"
        aria-description={refusalOf("tasks.move") ? undefined : words.value.board.keys}
        onClick={onOpen}
        onKeyDown={(event) => {
          if (!event.ctrlKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
          const next = columns[at + (event.key === "ArrowRight" ? 1 : -1)];
          if (next) void follow(next);
        }}
      >
        {task.title}
      </button>
      {!refusalOf("tasks.move") && <MoveTo task={task} columns={columns} onMove={follow} />}
      <TaskFacts task={task} />
    </li>
  );
}

function dueOf(due: string): string {
  const at = new Date(due.includes("T") ? due : `${due}T00:00`);
  return Number.isNaN(at.getTime()) ? due : dateOf(at);
}

function TaskFacts({ task }: { task: TaskItem }) {
  const say = words.value.board;
  const facts = [
    task.priority === "high" ? say.priorities.high : "",
    task.due ? say.due(dueOf(task.due)) : "",
    task.assignee,
  ].filter(Boolean);
  return facts.length ? <p class="soft">{facts.join(" · ")}</p> : null;
}

interface MoveToProperties {
  task: TaskItem;
  columns: string[];
  onMove: (column: string) => void;
}

function MoveTo({ task, columns, onMove }: MoveToProperties) {
  const say = words.value.board;
  return (
    <label class="move">
      <span class="unseen">{`${say.moveTo}: ${task.title}`}</span>
      <Icon name="move" size={20} />
      <select value="" onChange={(event) => onMove(event.currentTarget.value)}>
        <option value="" disabled>
          {say.moveTo}
        </option>
        {columns
          .filter((column) => column !== task.column)
          .map((column) => (
            <option key={column} value={column}>
              {say.columns[column as Column] ?? column}
            </option>
          ))}
      </select>
    </label>
  );
}

function TaskSheet({ task, columns, onClose }: { task: TaskItem; columns: string[]; onClose: () => void }) {
  const say = words.value.board;
  const title = useSignal(task.title);
  const due = useSignal("");
  const path = `/api/tasks/${encodeURIComponent(idOf(task))}${agentQuery("?")}`;
  const [result, run] = useFormResult();
  function save(event: SubmitEvent): void {
    event.preventDefault();
    const change: Record<string, string> = {};
    if (title.value.trim() !== task.title) change.title = title.value.trim();
    if (due.value.trim()) change.due = due.value.trim();
    void run(async () => {
      if (Object.keys(change).length) await attempt("PATCH", path, change);
      onClose();
      return { state: "none" };
    });
  }
  return (
    <Sheet title={task.title} onClose={onClose}>
      <form class="fields" onSubmit={save}>
        {task.description && <p class="soft">{task.description}</p>}
        <Allowed tool="tasks.change">
          <TextField label={say.title} value={title} maxLength={500} required />
          <TextField label={say.dueLabel} value={due} maxLength={100} placeholder={task.due || say.dueExample} />
          <MoveTo task={task} columns={columns} onMove={(column) => move(task, column)} />
          <FormTrouble result={result} />
          <p class="answers">
            {!refusalOf("tasks.remove") && (
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  onClose();
                  void act("DELETE", path);
                }}
              >
                <Icon name="bin" size={20} />
                {say.remove}
              </button>
            )}
            <button type="submit" class="solid">
              {words.value.shell.save}
            </button>
          </p>
        </Allowed>
      </form>
    </Sheet>
  );
}
