/** One recording of a message: from a press to the next, a minute at most, in whatever format the browser makes. */

const LONGEST_MS = 60_000;
const BITS_A_SECOND = 32_000; // speech needs no more

type RecordingTrouble = "insecure" | "refused";

export class Recording {
  private readonly recorder: MediaRecorder;
  private readonly parts: Blob[] = [];
  private readonly limit: number;
  private dropped = false;

  /** Begin to record: `begun` gets it once it runs, `over` its sound at the end, or null when it was dropped. */
  static async begin(
    begun: (recording: Recording) => void,
    over: (sound: Blob | null) => void,
  ): Promise<RecordingTrouble | null> {
    if (!navigator.mediaDevices || !("MediaRecorder" in window)) return "insecure";
    try {
      begun(new Recording(await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } }), over));
      return null;
    } catch {
      return "refused";
    }
  }

  private constructor(stream: MediaStream, over: (sound: Blob | null) => void) {
    this.recorder = new MediaRecorder(stream, { audioBitsPerSecond: BITS_A_SECOND });
    this.recorder.ondataavailable = ({ data }) => this.parts.push(data);
    this.recorder.onstop = () => {
      clearTimeout(this.limit);
      for (const track of stream.getTracks()) track.stop();
      over(this.dropped ? null : new Blob(this.parts, { type: this.recorder.mimeType }));
    };
    this.recorder.start();
    this.limit = setTimeout(() => this.end(), LONGEST_MS);
  }

  /** Stop, and hand over what was recorded. */
  end(): void {
    if (this.recorder.state !== "inactive") this.recorder.stop();
  }

  /** Stop, and forget it. */
  drop(): void {
    this.dropped = true;
    this.end();
  }
}

export async function base64Of(sound: Blob): Promise<string> {
  const bytes = new Uint8Array(await sound.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
