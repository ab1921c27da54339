import type { StandIn } from '../../dispatcher/index.ts'
import type { ToolMock } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { GLOB, matchesTool } from '../../internal/glob.ts'
import { canonicalJson, toContent } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'

/** An entry of `type: mock`, which stands in for tools. */
interface MockEntry {
  readonly id: string
  /** Which tools. */
  readonly match: string
  /** Arguments that a call must have, with these values. @default those of any call */
  readonly when?: Readonly<Record<string, unknown>>
  /** What the tool gives. */
  readonly returns?: unknown
  /** The message of what it throws. */
  readonly throws?: string
  /** @default 0 */
  readonly delayMs?: number
}

const FIELDS: Fields<MockEntry> = {
  id: required(a.name),
  match: required(GLOB),
  when: a.object,
  returns: a.value,
  throws: a.string,
  delayMs: a.number(0),
}

export const MOCK_OPTIONS: readonly string[] = Object.keys(FIELDS)

/** @throws HookspanError `INVALID_OPTION`. */
export function standInOf(entry: unknown): StandIn {
  const { id } = entry as MockEntry
  assertFields<MockEntry>(entry as MockEntry, FIELDS, `mock "${id}"`)
  const { match, when = {}, ...answer } = entry as MockEntry
  if ('returns' in answer === 'throws' in answer) {
    throw new HookspanError('INVALID_OPTION', `Mock "${id}" needs either \`returns\` or \`throws\`.`)
  }
  const wanted = Object.entries(when).map(([name, value]) => [name, canonicalJson(value)] as const)
  return ({ apiName, identifier, source, args }) => {
    const isMeant =
      matchesTool(match, { apiName, identifier, source }) &&
      wanted.every(
        // In JSON what is not there would be null.
        ([name, value]) => isRecord(args) && args[name] !== undefined && canonicalJson(args[name]) === value,
      )
    return isMeant ? { mock: mockOf(answer), source: 'mock', rule: id } : undefined
  }
}

function mockOf({ returns, throws, delayMs = 0 }: Omit<MockEntry, 'match'>): ToolMock {
  if (throws !== undefined) return { error: new Error(throws), delayMs }
  // A copy: what the agent does with it is not what the next call gets.
  return { content: toContent(returns), data: structuredClone(returns), delayMs }
}
