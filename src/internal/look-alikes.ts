/**
 * What does not show (a space of no width, a control sign), and what looks like another sign: a Cyrillic or Greek letter beside a Latin
 * one, a wide letter, a ligature, the dashes and quotes that word processors put in.
 */
const DECEPTIVE =
  /\p{DI}|\p{Cc}|(?! )\p{Z}|(?!-)\p{Pd}|\p{Pi}|\p{Pf}|[\u2212\ufb00-\ufb06\uff01-\uff5e]|(?<=[a-z])[\p{sc=Cyrl}\p{sc=Grek}]|[\p{sc=Cyrl}\p{sc=Grek}](?=[a-z])/giu

export function isDeceptive(text: string): boolean {
  return text.search(DECEPTIVE) >= 0
}

/** The same with such signs by their numbers. */
export function undeceived(text: string): string {
  return text.replace(DECEPTIVE, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}
