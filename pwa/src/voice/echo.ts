/** Tells the echo of an answer from somebody who speaks over it, by words. Pure. */

const ANSWERABLE = /\?|(?<![\p{L}\p{N}])(yes|yeah|ja|okay|ok)(?![\p{L}\p{N}])/iu;
const ECHO_WORDS = 3; // so many of the answer's own words in a row, heard over it, are its echo

/** Tell whether what was heard is a piece of an answer, word for word. */
export function isEchoOf(heard: string, answer: string): boolean {
  const plain = (text: string) =>
    ` ${
      text
        .toLocaleLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.join(" ") ?? ""
    } `;
  return plain(heard).trim().split(" ").length >= ECHO_WORDS && plain(answer).includes(plain(heard));
}

/** Tell whether an echo of an answer could be taken for a person's yes: it asks for one, or has one in it. */
export function couldAnswerItself(answer: string): boolean {
  return ANSWERABLE.test(answer);
}
