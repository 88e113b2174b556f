/** Which list a person means by what they typed, so that none stands there twice. Pure: text in, a list's name out. */

/** What the tools call the list that every house has, whatever its language. */
export const SHOPPING = "shopping";
const ALSO_SHOPPING = ["", "grocery", "groceries", "einkauf", "einkäufe", "einkaufen", "einkaufsliste"];
const NOT_NAMES = ["the", "my", "our", "list"]; // as the house has it

/** The name of the list that is there, or that would be made; "" where it has no word. */
export function listCalled(typed: string, names: readonly string[]): string {
  if (names.includes(typed)) return typed;
  if (!/[\p{L}\p{N}]/u.test(typed)) return "";
  const plain = plainOf(typed);
  if (ALSO_SHOPPING.includes(plain)) return SHOPPING;
  return names.find((name) => plainOf(name) === plain) ?? plain;
}

function plainOf(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}'’-]+/gu) ?? [];
  return words.filter((word) => !NOT_NAMES.includes(word)).join(" ");
}
