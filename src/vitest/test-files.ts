import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { HookspanError } from '../internal/errors.ts'
import { assertKnown } from '../internal/expect.ts'
import { sha256 } from '../internal/sha256.ts'
import type { RedactRecording, ReplayMode, ToolDeclaration } from '../mock/index.ts'

export interface ReplayFixtureOptions {
  /** @default `HOOKSPAN_REPLAY_MODE`, else `strict` in CI (`CI` is set), else `auto` */
  mode?: ReplayMode
  redact?: RedactRecording
  tools?: readonly ToolDeclaration[]
  /** Where the recordings are. @default `__recordings__` beside the test file */
  folder?: string
}

/** As far as vitest's task is looked at. */
export interface TestTask {
  readonly id: string
  readonly name: string
  readonly file?: { readonly filepath: string; readonly projectName?: string }
  readonly suite?: object
}

/** The names of its suites, and its own. */
export function fullName(task: TestTask): string {
  const names: string[] = []
  for (let at: { name?: string; suite?: object } | undefined = task; at !== undefined; at = at.suite) {
    if (at.name) names.unshift(at.name)
  }
  return names.join(' > ')
}

/**
 * One file per test, named after both.
 *
 * @throws HookspanError `INVALID_OPTION` where another test has it: one of the two would be told what the other recorded.
 */
export function recordingPath(task: TestTask, options: ReplayFixtureOptions = {}): string {
  assertKnown(options, ['mode', 'redact', 'tools', 'folder'], 'replay()')
  const testFile = task.file?.filepath ?? ''
  const folder = join(options.folder ?? join(dirname(testFile), '__recordings__'), basename(testFile))
  const path = join(folder, `${slugOf(fullName(task))}.json`)
  if (isFreeFor(task, path)) return path
  throw new HookspanError(
    'INVALID_OPTION',
    `The recording "${path}" is that of another test of this file, whose name is the same, or the same but for signs and capitals. Rename one of the two, or give it a \`folder\` of its own.`,
  )
}

/** Below the folder, for the trace of a failed test: one of its own, also beside a test of the same name, or itself in another project. */
export function tracePath(task: TestTask, root: string): string {
  const place = relative(process.cwd(), task.file?.filepath ?? '')
  const project = slugOf(task.file?.projectName ?? '')
  const folder = join(root, project, place.startsWith('..') || isAbsolute(place) ? basename(place) : place)
  const slug = slugOf(fullName(task))
  for (let count = 1; ; count++) {
    const path = join(folder, `${slug}${count === 1 ? '' : `-${count}`}.json`)
    if (isFreeFor(task, path)) return path
  }
}

/** Of what file systems take as a name, without the end. */
const MAX_BYTES = 240

function slugOf(name: string): string {
  const words = name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
  // Names of devices on Windows, with any end.
  const slug = /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(words) ? `test-${words}` : words
  if (Buffer.byteLength(slug) <= MAX_BYTES) return slug
  const digest = sha256(name).slice(0, 8)
  let short = [...slug].slice(0, MAX_BYTES).join('')
  // Not in the middle of a sign.
  while (Buffer.byteLength(short) > MAX_BYTES - 9) short = [...short].slice(0, -1).join('')
  return `${short}-${digest}`
}

/** Which test has which file, by the test file: it is another object whenever its tests are collected anew. */
const takers = new WeakMap<object, Map<string, string>>()

function isFreeFor({ id, file }: TestTask, path: string): boolean {
  if (file === undefined) return true
  const taken = takers.get(file) ?? new Map<string, string>()
  takers.set(file, taken)
  // Two that one file system tells apart may be one file for whoever checks them out.
  const place = path.normalize().toLowerCase()
  if (!taken.has(place)) taken.set(place, id)
  return taken.get(place) === id
}
