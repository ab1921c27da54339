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

/** The first whole number in a JSON text that a double cannot hold, or number beyond all of them. */
function lossyNumber(text: string): string | undefined {
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g) ?? []
  return numbers.find((number) => {
    const value = Number(number)
    return !Number.isFinite(value) || (/^-?\d+$/.test(number) && BigInt(number) !== BigInt(value))
  })
}
