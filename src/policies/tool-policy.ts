import { type Decision, deny, type Gate, type GateContext } from '../gates/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, expected, type Fields, shape } from '../internal/expect.ts'
import { ARGUMENT, GLOB_LIST, matchesGlob, matchesTool, mayMeanTool } from '../internal/glob.ts'
import { toContent } from '../internal/json.ts'
import { common, READY, type ReadyGateOptions } from './options.ts'
import { type LinearPattern, linearPattern } from './patterns.ts'

export interface ToolPolicyOptions extends ReadyGateOptions {
  /** Only these tools may be called, where there is a list. Globs over the name and over `identifier/name`. */
  allow?: readonly string[]
  /** These tools may not be called, whatever `allow` says. */
  deny?: readonly string[]
  /**
   * Patterns that an argument must not match, by its name: `{ command: ['rm\\s+-rf'] }`. The name is a glob over the
   * argument's own name and over its path (`options.path`), at any depth; `*` is every value. What is no text is
   * matched as JSON. RE2 syntax.
   */
  denyArguments?: Readonly<Record<string, string | RegExp | readonly (string | RegExp)[]>>
}

const LISTS = ['allow', 'deny', 'denyArguments'] as const

export const TOOL_POLICY: Fields<ToolPolicyOptions> = {
  ...READY,
  allow: GLOB_LIST,
  deny: GLOB_LIST,
  denyArguments: shape('patterns by argument name', a.object.fits),
}

interface ArgumentRule {
  readonly name: string
  readonly patterns: readonly LinearPattern[]
}

/**
 * Says which tools may be called, and with what: first `deny`, then `denyArguments`, then `allow`. A call that none of
 * them speaks of is let through.
 *
 * @throws HookspanError `INVALID_OPTION`, also where there is no list at all, or a pattern cannot run in linear time.
 * @example
 * toolPolicy({ deny: ['run_shell'], allow: ['file_*'], denyArguments: { path: ['^/etc/'] } })
 */
export function toolPolicy(options: ToolPolicyOptions): Gate {
  const gate = common(options, TOOL_POLICY, 'tool-policy')
  const owner = `gate "${gate.id}"`
  if (LISTS.every((name) => options[name] === undefined)) {
    throw new HookspanError('INVALID_OPTION', `${owner} has no list. Give one of ${LISTS.join(', ')}.`)
  }
  const { allow, deny: denied = [] } = options
  const rules = rulesOf(options.denyArguments ?? {}, owner)
  return {
    ...gate,
    // What only denies has nothing to say of other tools, among them those that nobody can decide on.
    ...(allow === undefined && rules.length === 0
      ? { match: denied }
      : { names: [...(allow ?? []), ...denied] }),
    point: 'beforeToolCall',
    decide(ctx) {
      const banned = denied.find((glob) => mayMeanTool(glob, named(ctx)))
      if (banned !== undefined) {
        return deny(`the tool ${ctx.apiName} is not allowed here`, { code: 'tool_not_allowed' })
      }
      const refused = refusedArgument(rules, ctx.payload)
      if (refused !== undefined) return refused
      if (allow !== undefined && !allow.some((glob) => matchesTool(glob, named(ctx)))) {
        return deny(`the tool ${ctx.apiName} is not among those that are allowed`, {
          code: 'tool_not_allowed',
        })
      }
      return undefined
    },
  }
}

const named = ({ apiName = '', identifier = '', source }: GateContext) => ({ apiName, identifier, source })

function rulesOf(
  denyArguments: NonNullable<ToolPolicyOptions['denyArguments']>,
  owner: string,
): ArgumentRule[] {
  return Object.entries(denyArguments).map(([name, given]) => {
    if (!ARGUMENT.fits(name))
      throw expected(`each name in \`denyArguments\` of ${owner} to be ${ARGUMENT.words}`, name)
    const list: unknown[] = Array.isArray(given) ? given : [given]
    return { name, patterns: list.map((pattern) => linearPattern(pattern, `${owner} for \`${name}\``)) }
  })
}

function refusedArgument(rules: readonly ArgumentRule[], args: unknown): Decision | undefined {
  if (rules.length === 0) return undefined
  for (const { name, path, text } of valuesOf(args)) {
    for (const rule of rules) {
      // Arguments that are no object have no names, nor have the items of a list: every rule is about them.
      if (name !== '' && !matchesGlob(rule.name, name) && !matchesGlob(rule.name, path)) continue
      const hit = rule.patterns.find((pattern) => pattern.test(text()))
      if (hit === undefined) continue
      return deny(`the argument ${path || 'of the call'} matches the forbidden pattern ${hit.source}`, {
        code: 'argument_denied',
      })
    }
  }
  return undefined
}

interface ArgumentValue {
  readonly name: string
  readonly path: string
  text(): string
}

/** Every value of the arguments with its name and its path; items of a list have the list's name. */
function* valuesOf(value: unknown, name = '', path = ''): Generator<ArgumentValue> {
  const isContainer = typeof value === 'object' && value !== null
  if (path !== '' || !isContainer) yield { name, path, text: () => toContent(value) }
  if (!isContainer) return
  for (const [key, item] of Object.entries(value)) {
    const own = Array.isArray(value) ? name : key
    yield* valuesOf(item, own, path === '' ? key : `${path}.${key}`)
  }
}
