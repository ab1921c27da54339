import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { toInstall } from '../../internal/node-sdk.ts'
import { findInstalled } from '../../internal/version-range.ts'
import { UsageError } from '../failure.ts'
import { installLine } from '../install-line.ts'
import { type AdapterName, KNOWN_SDKS } from '../known-sdks.ts'
import { SDKS } from '../peers.ts'
import { shown } from '../render/shown.ts'
import type { Edit } from './edits.ts'
import { CONFIG_FILE, CONFIG_TEXT, SETUP, setupText, testText } from './new-files.ts'
import { parseSource, type Source } from './parse.ts'
import { isInstalled, type Project, sourceFiles } from './project.ts'
import { type Rewritten, rewrite } from './rewrite.ts'
import { setupPath, writtenAs } from './setup-place.ts'
import { testPlace } from './test-place.ts'
import { readTsConfig } from './tsconfig.ts'
import { WAYS } from './ways.ts'

const API = '@opentelemetry/api'

export interface Change {
  /** Below the project, with `/`. */
  readonly file: string
  /** Undefined for a new file. */
  readonly before: string | undefined
  readonly edits: readonly Edit[]
}

export interface Proposal {
  /** What was found, and where it is attached or will be. */
  readonly found: readonly {
    readonly sdks: readonly string[]
    readonly adapter: AdapterName
    readonly files: readonly string[]
  }[]
  readonly changes: readonly Change[]
  /** What has to be written by hand, and why. */
  readonly byHand: readonly { readonly adapter: AdapterName; readonly file?: string; readonly why: string }[]
  readonly notes: readonly string[]
  /** The lines that install what is needed and not there. */
  readonly installs: readonly string[]
  /** The module with the dispatcher, for those who write by hand. */
  readonly setup: string | undefined
  readonly test: string | undefined
}

interface SourceText {
  readonly file: string
  readonly text: string
}

interface Candidate {
  readonly file: string
  readonly text: string
  readonly adapters: readonly AdapterName[]
  readonly source?: Source
  readonly why?: string
}

/** Looks at the sources and says what would be written. @throws UsageError for what cannot be attached to. */
export function propose(project: Project): Proposal {
  const files = sourceFiles(project.root)
  const texts = files.map((file) => ({ file, text: readFileSync(join(project.root, file), 'utf8') }))
  const candidates = texts.flatMap(({ file, text }) => candidateOf(file, text))
  const existing = files.find((file) => SETUP.test(file))
  const foreign = texts.find(({ file, text }) => file !== existing && /new HookDispatcher\(/.test(text))?.file
  const found = foundIn(project, candidates)
  const ready = existing !== undefined || foreign === undefined
  const readable = candidates.flatMap(({ source, ...rest }) =>
    source === undefined ? [] : { ...rest, source },
  )
  const setup = existing ?? (ready ? setupPath(project, readable) : undefined)
  const rewritten = readable.map((candidate) => ({
    ...candidate,
    ...written(project, candidate, { setup, existing, texts }),
  }))
  const edited = rewritten.filter(({ edits }) => edits.length > 0)
  const changes: Change[] = edited.map(({ file, text, edits }) => ({ file, before: text, edits }))
  const inSetup = edited.flatMap(({ adapters }) => adapters).filter((name) => WAYS[name].way.kind === 'setup')
  if (setup !== undefined && existing === undefined) {
    changes.push(created(setup, setupOf(project, setup, [...new Set(inSetup)])))
  }
  if (project.config === undefined) changes.push(created(CONFIG_FILE, CONFIG_TEXT))
  const { test, note } = firstTest(project, setup)
  if (test?.text !== undefined) changes.push(created(test.file, test.text))
  const byHand = handWork(candidates, rewritten, found)
  return {
    found: found.map(({ sdks, adapter }) => ({
      sdks,
      adapter,
      files: rewritten
        .filter(({ adapters, attached }) => [...adapters, ...attached].includes(adapter))
        .map(({ file }) => file),
    })),
    changes,
    byHand,
    notes: [
      ...(foreign !== undefined && existing === undefined
        ? [
            `${foreign} has a dispatcher already: nothing is attached to another one. Attach to yours what is missing.`,
          ]
        : []),
      ...(note === undefined ? [] : [note]),
      ...unimportable(project, setup),
      ...ofWorkers(project),
      ...found.flatMap(({ adapter }) => WAYS[adapter].note ?? []),
    ],
    installs: installsOf(project, test !== undefined),
    setup: setup ?? foreign,
    test: test?.file,
  }
}

function candidateOf(file: string, text: string): Candidate[] {
  // A file that does not name the package anywhere cannot load it.
  const named = (Object.keys(WAYS) as AdapterName[]).filter((adapter) =>
    WAYS[adapter].from.some((from) => text.includes(`'${from}'`) || text.includes(`"${from}"`)),
  )
  if (named.length === 0 || SETUP.test(file)) return []
  try {
    if (text.includes('\ufffd')) throw new Error('it is not written in UTF-8')
    const source = parseSource(file, text)
    const froms = source.bindings.map(({ from }) => from)
    const adapters = named.filter((adapter) =>
      [...WAYS[adapter].from, `hookspan/${adapter}`].some((from) => froms.includes(from)),
    )
    return adapters.length === 0 ? [] : [{ file, text, adapters, source }]
  } catch (error) {
    return [{ file, text, adapters: named, why: (error as Error).message }]
  }
}

/** The SDKs that package.json names or that a source imports. */
function foundIn({ dependencies }: Project, candidates: readonly Candidate[]) {
  const names = [...new Set(KNOWN_SDKS.map(([, adapter]) => adapter))]
  return names.flatMap((adapter) => {
    const sdks = KNOWN_SDKS.flatMap(([sdk, one]) => (one === adapter && dependencies.has(sdk) ? sdk : []))
    const isImported = candidates.some(({ adapters }) => adapters.includes(adapter))
    return sdks.length > 0 || isImported ? [{ adapter, sdks }] : []
  })
}

function written(
  project: Project,
  { file, source, adapters }: Candidate & { source: Source },
  where: { setup: string | undefined; existing: string | undefined; texts: readonly SourceText[] },
): Rewritten {
  const { setup, existing, texts } = where
  const why = whyNot(source, setup)
  if (setup === undefined || why !== undefined) {
    const { attached, unsafe, adapters: wanted } = rewrite(file, source, adapters, './setup')
    const refused = wanted.map((adapter) => ({ adapter, why: why ?? '' }))
    return { edits: [], adapters: [], attached, unsafe: [...unsafe, ...refused] }
  }
  const text = texts.find((one) => one.file === existing)?.text
  const cannot = adapters.flatMap((adapter) => {
    if (WAYS[adapter].way.kind !== 'setup') return []
    if (isRequired(project, setup) !== (source.syntax === 'require')) {
      return { adapter, why: `the SDK has a copy for \`require()\`, and ${setup} attaches the other one` }
    }
    const lacks = text !== undefined && !text.includes(`hookspan/${adapter}`)
    return lacks ? { adapter, why: `${existing} is there and does not attach it` } : []
  })
  const can = adapters.filter((adapter) => !cannot.some((one) => one.adapter === adapter))
  const done = rewrite(file, source, can, writtenAs(project, file, setup, texts))
  return { ...done, unsafe: [...done.unsafe, ...cannot] }
}

function whyNot(source: Source, setup: string | undefined): string | undefined {
  if (setup === undefined) return 'the project has a dispatcher of its own'
  return /ts$/.test(setup) === (source.language === 'ts') ? undefined : `${setup} is of another language`
}

function isRequired({ isModule }: Project, setup: string): boolean {
  const extension = extname(setup)
  return extension === '.cjs' || (extension === '.js' && !isModule)
}

function setupOf(project: Project, setup: string, adapters: readonly AdapterName[]): string {
  const { config, name, isModule } = project
  const waits = config !== undefined && /\.m?[jt]s$/.test(config)
  const syntax = isRequired(project, setup) ? 'require' : 'import'
  if (waits && (syntax === 'require' || (/\.ts$/.test(setup) && !isModule))) {
    throw new UsageError(
      `${shown(config)} is a module, and a CommonJS program cannot wait for one: write it as ${CONFIG_FILE}.`,
    )
  }
  return setupText({ serviceName: name, syntax, adapters, waits })
}

/** A runner that finds the test and is not vitest would only fail on it. */
function firstTest(
  project: Project,
  setup: string | undefined,
): { test?: { file: string; text?: string }; note?: string } {
  const { root, dependencies, test: command } = project
  const types = setup !== undefined && /ts$/.test(setup)
  const { file, isThere } = testPlace(root, types)
  if (isThere) return { test: { file } }
  const runner = /\b(jest|mocha|ava|tap|node --test|bun test|deno test)\b/.exec(
    [command, ...['jest', 'mocha', 'ava', 'tap'].filter((name) => dependencies.has(name))].join(' '),
  )?.[1]
  if (runner !== undefined && !dependencies.has('vitest')) {
    return {
      note: `No test is written: the project has ${runner}, and fixtures and matchers are for vitest (docs/testing-an-agent.md).`,
    }
  }
  const text = testText({ types: /ts$/.test(file), denies: project.config === undefined })
  return { test: { file, text } }
}

function installsOf(project: Project, hasTest: boolean): string[] {
  const isOfYarn = installLine([], project.root).startsWith('yarn ')
  const needed = [
    ...(isInstalled(project, 'hookspan') ? [] : ['hookspan']),
    ...(SDKS.some((name) => isInstalled(project, name))
      ? []
      : [toInstall(SDKS[0], join(project.root, 'package.json'))]),
    // Others install it by themselves.
    ...(isOfYarn && !isInstalled(project, API) ? [API] : []),
  ]
  return [
    ...(needed.length > 0 ? [installLine(needed, project.root)] : []),
    ...(hasTest && !isInstalled(project, 'vitest')
      ? [installLine([`-D vitest${typesBeside(project)}`], project.root)]
      : []),
  ]
}

/** npm refuses vitest beside the types of a Node that vitest does not run on, as new projects of Next.js have them. */
function typesBeside({ root, dependencies }: Project): string {
  const types = '@types/node'
  const installed = dependencies.has(types) ? findInstalled(types, join(root, 'package.json')) : undefined
  return installed !== undefined && Number.parseInt(installed.version, 10) < 22 ? ` ${types}@22` : ''
}

/** hookspan is ES modules, which TypeScript below `node20` lets no CommonJS import. */
function unimportable({ root, isModule }: Project, setup: string | undefined): string[] {
  const module = String(readTsConfig(root)?.options.get('module'))
  const isRefused = !isModule && /\.c?ts$/.test(setup ?? '') && /^node1[68]$/i.test(module)
  return isRefused
    ? [
        `tsconfig.json: under "module": "${module}" CommonJS cannot import hookspan. Write "nodenext" or "node20".`,
      ]
    : []
}

const WRANGLER = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml']

function ofWorkers({ root, dependencies }: Project): string[] {
  const by = WRANGLER.find((file) => existsSync(join(root, file)))
  if (by === undefined && !dependencies.has('wrangler')) return []
  return [
    `${by ?? 'wrangler in package.json'}: in Cloudflare's Workers this setup does not run, as it needs Node. What does: docs/supported-versions.md.`,
  ]
}

/** What cannot be edited, and what is in package.json and was found nowhere. */
function handWork(
  candidates: readonly Candidate[],
  rewritten: readonly (Candidate & Rewritten)[],
  found: readonly { adapter: AdapterName }[],
): Proposal['byHand'] {
  const unread = candidates.flatMap(({ file, adapters, why }) =>
    why === undefined ? [] : adapters.map((adapter) => ({ adapter, file, why })),
  )
  const unsafe = rewritten.flatMap((one) => one.unsafe.map((given) => ({ ...given, file: one.file })))
  const done = [
    ...unread,
    ...unsafe,
    ...rewritten.flatMap((one) => [...one.adapters, ...one.attached].map((adapter) => ({ adapter }))),
  ]
  const nowhere = found.filter(({ adapter }) => !done.some((one) => one.adapter === adapter))
  return [
    ...unread,
    ...unsafe,
    ...nowhere.map(({ adapter }) => ({ adapter, why: 'no source makes what it attaches to' })),
  ]
}

function created(file: string, text: string): Change {
  return { file, before: undefined, edits: [{ start: 0, end: 0, text }] }
}
