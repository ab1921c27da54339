import { RE2JS } from 're2js'
import { describeValue, errorSentence, HookspanError } from '../internal/errors.ts'
import { expected } from '../internal/expect.ts'

/** A pattern that runs in time linear in the text, whatever it is. */
export interface LinearPattern {
  readonly source: string
  test(text: string): boolean
  replace(text: string, replacement: string): string
}

/** What `\b` is in most languages' texts, and no text has: a pattern with it guards nothing. */
const BACKSPACE = '\b'

/** Letters that no escape of RE2 has: `\\h` and `\\Z` of other engines would be read as an h and a Z. */
const FOREIGN_ESCAPE = /^\\[eghijlmoqyCF-ORT-VX-Z]$/
/** What only the flag `v` gives a class: a set in a set, a difference, an intersection, a text. */
const SET_OPERATION = /--|&&|\\q\{|\[[^\]\\]*\[/

/**
 * Compiles a pattern for the RE2 engine: the syntax of regular expressions less look-around and back-references, which
 * are what makes one pattern able to stall a process.
 *
 * @throws HookspanError `INVALID_OPTION` naming the pattern.
 */
export function linearPattern(pattern: unknown, owner: string): LinearPattern {
  if (!(pattern instanceof RegExp) && !(typeof pattern === 'string' && pattern !== '')) {
    throw expected(`a pattern of ${owner} to be a text or a RegExp`, pattern)
  }
  const source = typeof pattern === 'string' ? pattern : pattern.source
  if (source.includes(BACKSPACE)) {
    const mend = 'where a backslash stands for something itself, as between double quotes of YAML, write two.'
    throw new HookspanError(
      'INVALID_OPTION',
      `The pattern ${describeValue(source)} of ${owner} has a backspace: ${mend}`,
    )
  }
  const stray = typeof pattern === 'string' ? foreignEscape(source) : setOperation(pattern)
  if (stray !== undefined) {
    const what = `The pattern ${describeValue(source)} of ${owner} has ${describeValue(stray)}`
    throw new HookspanError('INVALID_OPTION', `${what}, which RE2 does not know.`)
  }
  const flags = typeof pattern === 'string' ? 0 : flagsOf(pattern)
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source), flags)
    return {
      source,
      test: (text) => compiled.matcher(text).find(),
      replace: (text, replacement) => {
        const matcher = compiled.matcher(text)
        return matcher.find() ? matcher.replaceAll(RE2JS.quoteReplacement(replacement)) : text
      },
    }
  } catch (error) {
    throw new HookspanError(
      'INVALID_OPTION',
      `The pattern ${describeValue(source)} of ${owner} cannot run in linear time: ${errorSentence(error)} Look-around and back-references are not available.`,
      { cause: error },
    )
  }
}

function flagsOf(pattern: RegExp): number {
  return (
    (pattern.ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) |
    (pattern.multiline ? RE2JS.MULTILINE : 0) |
    (pattern.dotAll ? RE2JS.DOTALL : 0)
  )
}

function foreignEscape(source: string): string | undefined {
  return source.match(/\\./gs)?.find((sign) => FOREIGN_ESCAPE.test(sign))
}

function setOperation({ flags, source }: RegExp): string | undefined {
  return flags.includes('v') ? SET_OPERATION.exec(source)?.[0] : undefined
}
