/** Write a text's first letter large, as sentences and titles begin. Pure. */

export const capital = (text: string) => text.charAt(0).toLocaleUpperCase() + text.slice(1);
