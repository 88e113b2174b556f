/** One microphone: opened at the press, closed when it has not been needed for a while. */

const IDLE_MS = 30_000; // then the browser's recording light goes off; opening it again costs about 0.2 s

export type MicrophoneTrouble = "insecure" | "refused" | "missing" | "busy";

/** There is no microphone to be had; `reason` is one that the person is told in words. */
export class MicrophoneRefused extends Error {
  readonly reason: MicrophoneTrouble;

  constructor(reason: MicrophoneTrouble) {
    super(reason);
    this.reason = reason;
  }
}

export class Microphone {
  private wanted = false;
  private stream: MediaStream | null = null;
  private nodes: AudioNode[] = [];
  private opening: Promise<void> | null = null;
  private idle = 0;
  private readonly context: AudioContext;
  private readonly hear: (pcm: ArrayBuffer, level: number) => void;

  /** `hear` gets 40 ms of 24 kHz 16-bit mono at a time, and its level from 0 to 1. */
  constructor(context: AudioContext, hear: Microphone["hear"]) {
    this.context = context;
    this.hear = hear;
  }

  /** Whether it hears without being opened first. */
  get live(): boolean {
    return this.stream?.getAudioTracks().every((track) => track.readyState === "live") ?? false;
  }

  /** Hear from now on. Throws `MicrophoneRefused`. */
  async start(): Promise<void> {
    this.wanted = true;
    clearTimeout(this.idle);
    if (this.live) return;
    this.close();
    this.opening ??= this.open().finally(() => {
      this.opening = null;
    });
    await this.opening;
  }

  /** Hear no more; the device is let go a little later. */
  stop(): void {
    this.wanted = false;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.close(), IDLE_MS);
  }

  /** Whether what this device plays is taken out of what it hears; false where nobody says so. */
  get cancelsEcho(): boolean {
    return this.stream?.getAudioTracks()[0]?.getSettings().echoCancellation === true;
  }

  close(): void {
    for (const node of this.nodes) node.disconnect();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.nodes = [];
    this.stream = null;
  }

  private async open(): Promise<void> {
    if (!navigator.mediaDevices) throw new MicrophoneRefused("insecure");
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
      });
    } catch (trouble) {
      throw new MicrophoneRefused(reasonOf(trouble instanceof DOMException ? trouble.name : ""));
    }
    const source = this.context.createMediaStreamSource(this.stream);
    const worklet = new AudioWorkletNode(this.context, "atlas-microphone", {
      channelCount: 1,
      channelCountMode: "explicit",
      numberOfOutputs: 0,
    });
    worklet.port.onmessage = ({ data }) => this.wanted && this.hear(data.pcm, data.level);
    source.connect(worklet);
    this.nodes = [source, worklet];
    if (!this.wanted) this.stop();
  }
}

function reasonOf(name: string): MicrophoneTrouble {
  if (name === "NotAllowedError") return "refused";
  return name === "NotFoundError" ? "missing" : "busy";
}
