import { parseHostileJson } from '../../src/internal/hostile-json.ts'

/**
 * Arguments as a person wrote them instead of those that were asked for.
 *
 * @throws Error in one line for what is no JSON, or would not arrive as it is written: a key twice, a number that is too
 * large or has too many digits.
 */
export function editedArguments(text: string): unknown {
  try {
    JSON.parse(text)
  } catch (error) {
    throw new Error(`The arguments are not JSON: ${(error as Error).message}`)
  }
  try {
    const args = parseHostileJson(text)
    const number = lossyNumber(text)
    if (number !== undefined) throw new Error(`${number} would arrive as ${Number(number)}`)
    return args
  } catch (error) {
    throw new Error(`The arguments cannot be sent: ${(error as Error).message}.`)
  }
}

/** The first number in a JSON text that is another one as a double, or as JSON writes that: it would arrive as something else. */
function lossyNumber(text: string): string | undefined {
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g) ?? []
  return numbers.find((number) => {
    const value = Number(number)
    if (!Number.isFinite(value) || Object.is(value, -0)) return true
    return decimalOf(number) !== decimalOf(String(value))
  })
}

/** The same text for the same number, however it is written. */
function decimalOf(number: string): string {
  const [, sign, whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  const digits = `${whole}${part}`.replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  if (kept === '') return '0'
  return `${sign}${kept}e${Number(exponent) - part.length + digits.length - kept.length}`
}
