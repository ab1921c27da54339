import { errorMessage } from '../../internal/errors.ts'
import { safeStringify } from '../../internal/json.ts'
import { isMatcher, nameOf } from '../match/matcher.ts'
import type { Answer } from './answer.ts'
import { limitOf, type RuleDefinition } from './definition.ts'

/** A rule as it was written, cut to what tells it from the others. */
export function describeRule(definition: RuleDefinition): string {
  const { address, conditions, answer, name } = definition
  if (name !== undefined) return `mock(${JSON.stringify(address.text)}).named(${JSON.stringify(name)})`
  const when = conditions.map((condition) => {
    if (condition.kind === 'predicate') return `.when(${condition.test.name || 'function'})`
    return `.${condition.mode === 'exact' && !isMatcher(condition.expected) ? 'whenExactly' : 'when'}(${showExpected(condition.expected)})`
  })
  const limit = limitOf(definition)
  const times =
    limit === 1 ? '.once()' : Number.isFinite(limit) && answer?.kind !== 'sequence' ? `.times(${limit})` : ''
  return `mock(${JSON.stringify(address.text)})${when.join('')}${times}${answer === undefined ? '' : showAnswer(answer)}`
}

function showAnswer(answer: Answer): string {
  switch (answer.kind) {
    case 'value':
      return `.returns(${cut(safeStringify(answer.value))})`
    case 'failure':
      return `.fails(${cut(JSON.stringify(answer.content))})`
    case 'error':
      return `.throws(${cut(errorMessage(answer.error))})`
    case 'function':
      return answer.simulated ? '.simulatedBy(…)' : '.calls(…)'
    case 'sequence':
      return `.sequence([${answer.items.length} answers])`
    case 'stream':
      return `.streams([${answer.chunks.length} chunks])`
    case 'timeout':
      return '.timesOut()'
    case 'hang':
      return '.hangs()'
    case 'live':
      return '.passesThrough()'
  }
}

/** An expectation as source code would have it, matchers by their description. */
function showExpected(expected: unknown): string {
  if (expected instanceof RegExp) return String(expected)
  const name = nameOf(expected)
  if (name !== undefined) return `<${name}>`
  if (Array.isArray(expected)) return `[${expected.map(showExpected).join(', ')}]`
  if (
    typeof expected === 'object' &&
    expected !== null &&
    Object.getPrototypeOf(expected) === Object.prototype
  ) {
    const entries = Object.entries(expected).map(([key, value]) => `${key}: ${showExpected(value)}`)
    return cut(`{ ${entries.join(', ')} }`, 200)
  }
  return cut(safeStringify(expected) || String(expected))
}

export function cut(text: string, length = 60): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
