/**
 * Failures of one kind say the same but for what they name: an id, a number, a path, a value in quotes. Without these they are
 * counted together. `#` stands for what has digits, `…` for a path or a short value in quotes.
 */
import { oneLine } from './digest.ts'

/** Shorter than a message is kept: how much of a long one is left must not turn on how long the ids in it are. */
const KIND_CHARS = 140

/** A status says what kind it is; at the beginning, or where it is called so. */
const STATUS =
  /(^(?:error:? )?|\b(?:status|code|http(?:\/[\d.]+)?|error)\b[\s:=()]*)([45]\d\d)(?![\p{L}\p{N}])/giu
/** No letter has this: what stands in its place until the other numbers are gone. */
const KEPT = '\uE000'
/** Not the names and values of JSON, of which one is the message. */
const QUOTED = /(?<![\p{L}\p{N}])(?<!["'\]}]\s*:\s*)(["'`])([^"'`]*)\1(?![\p{L}\p{N}])(?!\s*:\s*["'{[\d])/gu
const URL_PATH = /\b([a-z][a-z+.-]*:\/\/[^\s/?#"']+)[^\s"')\]]+/giu
const PATH = /(?<![\p{L}\p{N}_:/])(?:[A-Za-z]:|\.{1,2}|~)?(?:[\\/][\p{L}\p{N}_.@~-]+){2,}[\\/]?/gu
/** Words and numbers, joined as those of ids, versions, times and addresses are. */
const WITH_DIGITS = /[\p{L}\p{N}]+(?:(?:[_-]+|(?<=\p{N})[.,:](?=\p{N}))[\p{L}\p{N}]+)*/gu
const NAME_AND_NUMBER = /^(\p{L}+)\p{N}+$/u

export function errorKind(message: string): string {
  const kept: string[] = []
  const kind = message
    .replace(STATUS, (_all, before: string, status: string) => {
      kept.push(status)
      return before + KEPT
    })
    .replace(QUOTED, (all, _quote: string, value: string) => (isSentence(value) ? all : '…'))
    .replace(URL_PATH, '$1/…')
    .replace(PATH, '…')
    .replace(WITH_DIGITS, (word) => (/\p{N}/u.test(word) ? withoutDigits(word) : word))
    .replaceAll(KEPT, () => kept.shift() ?? '')
  return oneLine(kind, KIND_CHARS)
}

/** What is quoted may be what went wrong, in the words of another program. */
function isSentence(value: string): boolean {
  return value.split(' ').length > 3
}

/** `HAT030` is some `HAT#`; what has digits in between is an id as a whole. */
function withoutDigits(word: string): string {
  return word.replace(NAME_AND_NUMBER, '$1#').replace(/.*\p{N}.*/u, '#')
}
