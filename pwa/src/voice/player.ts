/** The voice of the house: sound in as it comes, and how much of it has really been heard. */

export type PlayerCommand = { do: "begin" | "end" | "flush" } | { do: "play"; pcm: ArrayBuffer };

export interface PlayerReport {
  what: "started" | "playing" | "flushed" | "drained";
  playedMs: number;
  level: number;
}

export class Player {
  playedMs = 0;
  totalMs = 0; // of all replies since the page was opened
  busy = false;
  private receivedMs = 0; // of this reply
  private flushed: ((ms: number) => void) | null = null;
  private readonly node: AudioWorkletNode;
  private readonly on: { started: () => void; playing: (level: number) => void; drained: () => void };

  /** The worklets of `context` are loaded. */
  constructor(context: AudioContext, on: Player["on"]) {
    this.on = on;
    this.node = new AudioWorkletNode(context, "atlas-player", { numberOfInputs: 0, outputChannelCount: [1] });
    this.node.connect(context.destination);
    this.node.port.onmessage = ({ data }: MessageEvent<PlayerReport>) => this.note(data);
  }

  /** A new reply; what is left of another is dropped. */
  begin(): void {
    this.busy = true;
    this.playedMs = this.receivedMs = 0;
    this.command({ do: "begin" });
  }

  /** Add sound: 24 kHz, 16 bits, mono. */
  play(pcm: ArrayBuffer): void {
    this.receivedMs += pcm.byteLength / 48;
    this.command({ do: "play", pcm }, [pcm]);
  }

  /** No more of this reply will come. */
  end(): void {
    this.command({ do: "end" });
  }

  /** Fall silent; return how many milliseconds of this reply were heard. */
  flush(): Promise<number> {
    this.flushed?.(this.playedMs);
    return new Promise((done) => {
      this.flushed = done;
      this.command({ do: "flush" });
    });
  }

  private command(command: PlayerCommand, transfer: Transferable[] = []): void {
    this.node.port.postMessage(command, transfer);
  }

  private note({ what, playedMs: reported, level }: PlayerReport): void {
    const playedMs = Math.min(reported, Math.floor(this.receivedMs)); // the filter's tail is nobody's words
    this.totalMs += playedMs - this.playedMs;
    this.playedMs = playedMs;
    if (what === "started") this.on.started();
    if (what === "flushed" || what === "drained") this.busy = false;
    if (what === "flushed") {
      this.flushed?.(playedMs);
      this.flushed = null;
    }
    this.on.playing(this.busy ? level : 0);
    if (what === "drained") this.on.drained();
  }
}
