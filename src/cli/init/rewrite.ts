import type { AdapterName } from '../known-sdks.ts'
import { freeName, type Place, placeIn } from './attach.ts'
import { applyEdits, type Edit } from './edits.ts'
import { parseSource, type Source, type SyntaxNode } from './parse.ts'
import { WAYS } from './ways.ts'

export interface Rewritten {
  readonly edits: readonly Edit[]
  readonly adapters: readonly AdapterName[]
  /** Adapters that the file wants and that are not written into it. */
  readonly unsafe: readonly { readonly adapter: AdapterName; readonly why: string }[]
  readonly attached: readonly AdapterName[]
}

/**
 * Attaches what a file makes or starts.
 *
 * @param setup how the file imports the module that has the dispatcher.
 */
export function rewrite(
  file: string,
  source: Source,
  adapters: readonly AdapterName[],
  setup: string,
): Rewritten {
  const dispatcher = freeName(source.text, 'dispatcher')
  const places = adapters.map((adapter) => ({ adapter, place: placeIn(source, adapter, dispatcher) }))
  const attached = places.flatMap(({ adapter, place }) => (place.state === 'attached' ? adapter : []))
  const unsafe = places.flatMap(({ adapter, place }) =>
    place.state === 'unsafe' ? { adapter, why: place.why } : [],
  )
  const found = places.flatMap(({ adapter, place }) => (place.state === 'found' ? { adapter, place } : []))
  if (found.length === 0) return { edits: [], adapters: [], unsafe, attached }
  const refuse = (why: string): Rewritten => ({
    edits: [],
    adapters: [],
    unsafe: [...unsafe, ...found.map(({ adapter }) => ({ adapter, why }))],
    attached,
  })
  const lines = linesFor(source, found, { dispatcher, setup })
  if (lines === undefined) return refuse('it loads the SDK inside of a function')
  const edits = [...found.flatMap(({ place }) => place.edits), lines]
  const why = wrongOf(
    file,
    applyEdits(source.text, edits),
    found.map(({ adapter }) => adapter),
  )
  return why === undefined
    ? { edits, adapters: found.map(({ adapter }) => adapter), unsafe, attached }
    : refuse(why)
}

type FoundPlace = { adapter: AdapterName; place: Extract<Place, { state: 'found' }> }

/** The imports and what comes behind them, where the file has its own, written as it writes. */
function linesFor(
  source: Source,
  found: readonly FoundPlace[],
  { dispatcher, setup }: { dispatcher: string; setup: string },
): Edit | undefined {
  const { text, syntax, program } = source
  const body = program.body as SyntaxNode[]
  const froms = found.flatMap(({ adapter }) => WAYS[adapter].from)
  const ofSdks = source.bindings.filter(({ from }) => froms.includes(from)).map(({ statement }) => statement)
  const anchor =
    syntax === 'import'
      ? body.findLast(({ type }) => type === 'ImportDeclaration')
      : body.find((statement) => ofSdks.includes(statement))
  if (anchor === undefined) return undefined
  const own = text.slice(anchor.start, anchor.end)
  const quote = own.match(/['"]/)?.[0] ?? "'"
  const end = own.endsWith(';') ? ';' : ''
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const from = (name: string) => `${quote}${name}${quote}`
  const load = (names: string, module: string) =>
    syntax === 'import'
      ? `import { ${names} } from ${from(module)}${end}`
      : `const { ${names.replace(' as ', ': ')} } = require(${from(module)})${end}`
  const needs = found.some(({ place }) => place.edits.length > 0)
  const bare = syntax === 'import' ? `import ${from(setup)}${end}` : `require(${from(setup)})${end}`
  const lines = [
    ...found.flatMap(({ adapter, place }) =>
      place.imports.length === 0 ? [] : load(place.imports.join(', '), `hookspan/${adapter}`),
    ),
    needs ? load(dispatcher === 'dispatcher' ? dispatcher : `dispatcher as ${dispatcher}`, setup) : bare,
    ...found.flatMap(({ place }) => place.statements.map((statement) => `${newline}${statement}${end}`)),
  ].join(newline)
  if (syntax === 'require') return { start: anchor.start, end: anchor.start, text: lines + newline }
  const last = endOfImports(source, anchor.end)
  // What stands behind it in its line stays there.
  const rest = text.slice(last).match(/^[^\r\n]*/)?.[0] ?? ''
  const at = /^\s*(\/\/.*)?$/.test(rest) ? last + rest.length : last
  return { start: at, end: at, text: newline + lines }
}

const IMPORTED_TYPES = /^(?:\s|\/\/.*)*import\s+type\s[^'"]*(['"])[^'"\n]*\1[ \t]*;?/

/** Behind the types that are imported from there on, of which the tree knows nothing. */
function endOfImports({ text, withoutTypes }: Source, end: number): number {
  for (let at = end; ; ) {
    const [found] = text.slice(at).match(IMPORTED_TYPES) ?? []
    if (found === undefined) return at
    const code = withoutTypes.slice(at, at + found.length).replace(/\/\/.*/g, '')
    if (code.trim() !== '') return at
    at += found.length
  }
}

/** Why the text is not what it was meant to be: whatever is written has been read again. */
function wrongOf(file: string, text: string, adapters: readonly AdapterName[]): string | undefined {
  try {
    const { bindings } = parseSource(file, text)
    const missing = adapters.find(
      (adapter) =>
        WAYS[adapter].way.kind !== 'setup' && !bindings.some(({ from }) => from === `hookspan/${adapter}`),
    )
    return missing === undefined ? undefined : 'what was written cannot be found again'
  } catch (error) {
    return `with the lines, ${(error as Error).message}`
  }
}
