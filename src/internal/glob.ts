import { expected, type Shape, shape } from './expect.ts'
import { isDeceptive } from './look-alikes.ts'

/** What other kinds of patterns and lists mean something by: taken as it is it would match nothing, and a guard would be gone. */
const FOREIGN = /[[\]{}!^|$()\\>,;"'`]|^\s|\s$/
const SIGNS =
  '`*` (any run of characters) and `?` (one), without [ ] { } ! ^ | $ ( ) \\ > , ; quotes and signs that look like others or do not show'

const isGlob = (value: unknown) =>
  typeof value === 'string' && value !== '' && !FOREIGN.test(value) && !isDeceptive(value)
const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isGlob)

export const GLOB: Shape = shape(`a name or a glob of ${SIGNS}`, isGlob)
export const GLOBS: Shape = shape(
  `a name or a glob of ${SIGNS}, or a list of such globs, one for each alternative`,
  (value) => isGlob(value) || (isList(value) && value.length > 0),
)
export const GLOB_LIST: Shape = shape(
  `a list of tool names or globs of ${SIGNS}, one for each alternative`,
  isList,
)

/** Of an argument: `$ref` is a name, too. */
export const ARGUMENT: Shape = shape(
  "an argument's name or path, or a glob of `*` and `?`, without [ ] { } ! ^ | ( ) \\ , ; quotes and signs that look like others or do not show",
  (value) => typeof value === 'string' && isGlob(value.replaceAll(/\$(?=.)/g, '_')),
)

/** @throws HookspanError `INVALID_OPTION` for what is no glob. */
export function assertGlob(value: unknown, what: string): void {
  if (!isGlob(value)) throw expected(`${what} to be ${GLOB.words}`, value)
}

/**
 * Whether a glob names a tool: by its name, or by `identifier/name`. One of an MCP server also by what its model and its users know it
 * by where that is Claude's, `mcp__identifier__name`: a guard that is written so must not let everything through.
 */
export function matchesTool(glob: string, tool: NamedTool): boolean {
  return ownNames(tool).some((name) => matchesGlob(glob, name))
}

interface NamedTool {
  readonly apiName: string
  readonly identifier?: string | undefined
  readonly source?: string | undefined
}

function ownNames({ apiName, identifier, source }: NamedTool): string[] {
  if (identifier === undefined) return [apiName]
  const names = [apiName, `${identifier}/${apiName}`]
  return source === 'mcp' ? [...names, `mcp__${identifier}__${apiName}`] : names
}

/**
 * Whether what guards or listens may mean a tool: one of an MCP server also by what Copilot's models and users know it by,
 * `identifier-name`, and by its name at the server where the SDK puts that of the server before it; and any by a name whose accents
 * are written otherwise (NFC, NFD). As these may be other tools' own names, what allows a call or answers it does not go by them.
 */
export function mayMeanTool(glob: string, tool: NamedTool): boolean {
  const { all, composed } = namesOf(tool)
  if (all.some((name) => matchesGlob(glob, name))) return true
  if (composed.length === 0) return false
  const other = glob.normalize()
  return composed.some((name) => matchesGlob(other, name))
}

interface Names {
  readonly tool: NamedTool
  readonly all: readonly string[]
  /** The same with their accents in one sign each; none where there are no accents. */
  readonly composed: readonly string[]
}

/** Of the tool that was asked about last: each of a hundred globs asks about the same. */
let last: Names | undefined

function namesOf(tool: NamedTool): Names {
  const { apiName, identifier, source } = tool
  const before = last?.tool
  if (before?.apiName === apiName && before.identifier === identifier && before.source === source)
    return last as Names
  const all = meant(tool)
  const hasAccents = NOT_ASCII.test(`${identifier ?? ''}${apiName}`)
  last = {
    tool: { apiName, identifier, source },
    all,
    composed: hasAccents ? all.map((name) => name.normalize()) : [],
  }
  return last
}

const NOT_ASCII = /[^\0-\x7f]/

function meant(tool: NamedTool): string[] {
  const { apiName, identifier, source } = tool
  if (source !== 'mcp' || identifier === undefined) return ownNames(tool)
  return [
    ...ownNames(tool),
    `${identifier}-${apiName}`.replaceAll(/[^\w-]/g, '-'),
    ...namesAtServer(apiName, identifier).flatMap((one) => ownNames({ ...one, source })),
  ]
}

/** `orders_delete` and `orders__delete` of `orders`; of `mcp__my__orders__delete` nobody knows where its server's name ends. */
function namesAtServer(apiName: string, identifier: string): { apiName: string; identifier: string }[] {
  const names = [...apiName.matchAll(/(?<=.)__(?=.)/g)].map(({ index }) => ({
    apiName: apiName.slice(index + 2),
    identifier: `${identifier}__${apiName.slice(0, index)}`,
  }))
  const plain = (name: string) => name.replaceAll(/[^\w-]/g, '_')
  const after = plain(apiName).startsWith(plain(identifier)) ? apiName.slice(identifier.length) : ''
  const rest = /^[_-]+(.+)$/s.exec(after)?.[1]
  return rest === undefined ? names : [...names, { apiName: rest, identifier }]
}

/** The same glob as `identifier/name` where it is the other way of naming the tools of one MCP server. */
export function globByHome(glob: string): string {
  return glob.replace(/^mcp__([^*?]+?)__(?=.)/, '$1/')
}

/**
 * Whether a glob of `*` (any run of characters) and `?` (one character) matches the whole text. Runs in
 * O(pattern x text) at worst: no pattern can stall the process.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let mark = 0
  while (t < text.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++
      mark = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++mark
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
