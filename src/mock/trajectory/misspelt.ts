import { HookspanError } from '../../internal/errors.ts'
import { matchesTool } from '../../internal/glob.ts'
import { nearestName } from '../../internal/nearest-name.ts'
import { isPlain, isRecord } from '../../internal/objects.ts'
import { isMatcher } from '../match/matcher.ts'
import { type ToolDeclaration, toolsOf } from '../tool-catalog.ts'
import { eventsOfTree } from './humans.ts'
import type { ReadableTrajectory } from './read-trajectory.ts'
import type { ExpectedCall } from './types.ts'
import { callsInTree } from './whole-tree.ts'

/** Whether a call that must not be there is one that could be: by its tool, its arguments and its agent. */
export function assertNoSlip(source: ReadableTrajectory, expected: ExpectedCall): void {
  const { name, args, agent } = typeof expected === 'string' ? { name: expected } : expected
  assertNotMisspelt(source, [name])
  assertNoMisspeltArgument(source, name, args)
  const agents = callsInTree(source).flatMap((call) => call.agent ?? [])
  assertNoSlipOf('No agent with a call is named', agent, agents)
}

/** Of what was seen, and what must not be: where nothing like it was seen, it was rightly not. */
export function assertNoSlipOf(what: string, name: string | undefined, seen: readonly string[]): void {
  if (name === undefined || isPattern(name) || seen.includes(name)) return
  const close = slipOf(name, seen)
  if (close === undefined) return
  throw new HookspanError('INVALID_OPTION', `${what} "${name}". Did you mean "${close}"?`)
}

/**
 * A tool that must not be called, and that nobody offered, may be one that the agent rightly does not have. A name that
 * is a letter away from one that was offered is misspelt: the expectation would hold for every run.
 *
 * @param names of tools that must not be called; globs are left out.
 * @throws HookspanError `MOCK_UNKNOWN_TOOL`.
 */
export function assertNotMisspelt(source: object, names: readonly string[]): void {
  if (!names.every(isPattern)) assertNoToolSlip(names, offeredIn(source))
}

/** The same of the names that were offered. */
export function assertNoToolSlip(names: readonly string[], offered: readonly string[]): void {
  for (const name of names) {
    if (isPattern(name)) continue
    if (offered.some((apiName) => isFor(name, apiName))) continue
    const others = offered.filter((apiName) => !names.includes(apiName))
    const close = slipOf(bare(name), others)
    if (close === undefined) continue
    throw new HookspanError(
      'MOCK_UNKNOWN_TOOL',
      `No model was offered a tool "${name}", so that it cannot have been called. Did you mean "${close}"?\n` +
        `  Tools: ${offered.toSorted().join(', ')}.\n` +
        'Where it is another tool, which the agent rightly does not have: ' +
        `expect(readTrajectory(run).map(({ name }) => name)).not.toContain('${bare(name)}').`,
    )
  }
}

/** The same for the arguments with which it must not be called: none of them may be a slip of one that it takes. */
function assertNoMisspeltArgument(source: object, name: string, args: unknown): void {
  for (const { name: apiName, inputSchema } of toolsIn(source)) {
    if (isFor(name, apiName)) assertNoSlipIn(apiName, args, inputSchema)
  }
}

/** At every depth, as far as the schema says which there are. */
function assertNoSlipIn(apiName: string, args: unknown, schema: unknown): void {
  if (!isRecord(args) || !isPlain(args) || isMatcher(args)) return
  if (!isRecord(schema) || !isRecord(schema.properties)) return
  const taken = Object.keys(schema.properties)
  const others = taken.filter((other) => !(other in args))
  for (const [key, value] of Object.entries(args)) {
    if (taken.includes(key)) {
      assertNoSlipIn(apiName, value, schema.properties[key])
      continue
    }
    const close = slipOf(key, others)
    if (close === undefined) continue
    throw new HookspanError(
      'INVALID_OPTION',
      `Tool "${apiName}" takes no argument "${key}", so that no call of it has one. Did you mean "${close}"?\n` +
        `  Arguments: ${taken.join(', ')}.`,
    )
  }
}

/** Nothing where no model's request is known. */
function toolsIn(source: object): ToolDeclaration[] {
  return (eventsOfTree(source) ?? []).flatMap((event) =>
    event.hookType === 'beforeLlmCall' ? toolsOf(event.request) : [],
  )
}

const offeredIn = (source: object) => [...new Set(toolsIn(source).map(({ name }) => name))]

function slipOf(name: string, names: readonly string[]): string | undefined {
  const meant = names.filter((other) => mayBeMeant(name, other))
  return nearestName(name, meant, name.length < 12 ? 1 : 2)
}

const isPattern = (name: string) => /[*?]/.test(name)
/** A tool's home is not part of what a model is offered. */
const bare = (name: string) => name.slice(name.lastIndexOf('/') + 1)
const isFor = (name: string, apiName: string) => matchesTool(name, { apiName }) || bare(name) === apiName

/** Of `get_user` and `set_user`, `search_v1` and `search_v2`, one is no slip of the other; nor of names with a few letters. */
function mayBeMeant(name: string, apiName: string): boolean {
  const letters = (text: string) => text.replaceAll(/\d/g, '')
  return name.length > 3 && letters(name) !== letters(apiName) && sameStart(name, apiName)
}

const sameStart = ([a = '']: string, [b = '']: string) => a.toLowerCase() === b.toLowerCase()
