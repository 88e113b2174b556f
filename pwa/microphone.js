// One microphone: opened at the press, closed when it has not been needed for a while.

const IDLE_MS = 30_000; // then the browser's recording light goes off; opening it again costs about 0.2 s

export class MicrophoneRefused extends Error {}

export class Microphone {
  /**
   * @param {AudioContext} context
   * @param {(pcm: ArrayBuffer, level: number) => void} heard 40 ms of 24 kHz 16-bit mono, and its level from 0 to 1
   */
  constructor(context, heard) {
    this.context = context;
    this.heard = heard;
    this.wanted = false;
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {AudioNode[]} */
    this.nodes = [];
    /** @type {Promise<void> | null} */
    this.opening = null;
    this.idle = 0;
  }

  /** Hear from now on. Throws `MicrophoneRefused` with a sentence for the person. */
  async start() {
    this.wanted = true;
    clearTimeout(this.idle);
    if (this.stream?.getAudioTracks().every((track) => track.readyState === "live")) return;
    this.close();
    this.opening ??= this.open().finally(() => (this.opening = null));
    await this.opening;
  }

  /** Hear no more; the device is let go a little later. */
  stop() {
    this.wanted = false;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.close(), IDLE_MS);
  }

  close() {
    for (const node of this.nodes) node.disconnect();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.nodes = [];
    this.stream = null;
  }

  async open() {
    if (!navigator.mediaDevices) {
      throw new MicrophoneRefused("Browsers give a microphone only to https and to localhost. You can type instead.");
    }
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
      });
    } catch (trouble) {
      const name = trouble instanceof DOMException ? trouble.name : "";
      throw new MicrophoneRefused(
        name === "NotAllowedError"
          ? "The microphone is not allowed. Allow it beside the address, or type instead."
          : name === "NotFoundError"
            ? "There is no microphone here. You can type instead."
            : "The microphone does not work; another program may hold it. You can type instead.",
      );
    }
    const source = this.context.createMediaStreamSource(this.stream);
    const worklet = new AudioWorkletNode(this.context, "atlas-microphone", {
      channelCount: 1, channelCountMode: "explicit", numberOfOutputs: 0,
    });
    worklet.port.onmessage = ({ data }) => this.wanted && this.heard(data.pcm, data.level);
    source.connect(worklet);
    this.nodes = [source, worklet];
    if (!this.wanted) this.stop();
  }
}
