/** What a program wrote in its log: in English, whatever the app speaks. */

export function LogLine({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="log-line" lang="en" translate={false}>
      {text}
    </p>
  );
}
