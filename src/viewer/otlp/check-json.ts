import { describeValue } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import type { Field, Message } from '../../internal/otlp/messages.ts'
import { MAX_DEPTH, tooDeep } from '../../internal/otlp/protobuf-reader.ts'

/**
 * Whether OTLP/JSON holds objects, lists and plain values where the message has them, so that whoever reads it later
 * need not look. `null` is as good as nothing; which kind of plain value it is does not matter.
 *
 * @throws TypeError naming the place, RangeError when it is nested too deeply.
 */
export function checkJson(value: unknown, message: Message): void {
  const problem = problemOf(value, message, 0)
  if (problem !== undefined) throw new TypeError(problem.replace(/^(\.|: )/, ''))
}

/** What is wrong, behind the place where it is. */
function problemOf(value: unknown, message: Message, depth: number): string | undefined {
  if (!isRecord(value)) return expected('an object', value)
  if (depth > MAX_DEPTH) throw tooDeep()
  for (const name in value) {
    const field = message.fields.get(name)
    const given = value[name]
    if (field === undefined || given === null) continue
    const problem = field.isList ? listProblem(given, field, depth) : fieldProblem(given, field, depth)
    if (problem !== undefined) return `.${name}${problem}`
  }
  return undefined
}

function listProblem(given: unknown, field: Field, depth: number): string | undefined {
  if (!Array.isArray(given)) return expected('a list', given)
  for (let index = 0; index < given.length; index++) {
    const problem = fieldProblem(given[index], field, depth)
    if (problem !== undefined) return `[${index}]${problem}`
  }
  return undefined
}

function fieldProblem(given: unknown, { of }: Field, depth: number): string | undefined {
  if (of) return problemOf(given, of(), depth + 1)
  return typeof given === 'object' ? expected('a plain value', given) : undefined
}

const expected = (what: string, given: unknown) => `: expected ${what}, got ${describeValue(given)}.`
