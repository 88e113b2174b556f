/** Bytes, percents and other numbers, as the language of the app writes them. */

import { words } from "../strings/index.ts";

export function bytesOf(bytes: number): string {
  const [size, unit] = bytes >= 1e9 ? [bytes / 1e9, "GB"] : bytes >= 1e6 ? [bytes / 1e6, "MB"] : [bytes / 1e3, "kB"];
  return `${size.toLocaleString(words.value.language, { maximumFractionDigits: size < 10 ? 1 : 0 })} ${unit}`;
}

export const percentOf = (value: number) => (value / 100).toLocaleString(words.value.language, { style: "percent" });

export const numberOf = (value: number) =>
  value.toLocaleString(words.value.language, { maximumFractionDigits: value < 10 ? 1 : 0 });
