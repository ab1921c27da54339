import type { AdapterName } from '../known-sdks.ts'
import type { Edit } from './edits.ts'
import { type Binding, nodesOf, type Source, type SyntaxNode } from './parse.ts'
import { importsOf, WAYS, type Way } from './ways.ts'

/** What can be done in a file for one adapter. */
export type Place =
  /** Nothing of the SDK is made or started here. */
  | { readonly state: 'none' }
  | { readonly state: 'attached' }
  /** It could be attached here, but not without the danger of a wrong edit. */
  | { readonly state: 'unsafe'; readonly why: string }
  | {
      readonly state: 'found'
      readonly edits: readonly Edit[]
      /** Names to import from the adapter. */
      readonly imports: readonly string[]
      /** Statements behind the imports. */
      readonly statements: readonly string[]
    }

const NONE: Place = { state: 'none' }

/** @param dispatcher the name under which the file has it. */
export function placeIn(source: Source, adapter: AdapterName, dispatcher: string): Place {
  const { from, way } = WAYS[adapter]
  const bindings = source.bindings.filter((binding) => from.includes(binding.from))
  const places = bindings.length === 0 ? [] : sitesOf(source, bindings, way, dispatcher)
  if (source.bindings.some((binding) => binding.from === `hookspan/${adapter}`)) return { state: 'attached' }
  if (places.length === 0) return NONE
  if (way.kind === 'setup' && loadsSetup(source)) return { state: 'attached' }
  const unsafe = places.find((place) => typeof place === 'string')
  if (unsafe !== undefined) return { state: 'unsafe', why: unsafe as string }
  const sites = places as Site[]
  const used = sites.map(({ binding }) => binding)
  const why = doubt(source, used, way)
  if (why !== undefined) return { state: 'unsafe', why }
  const statements = sites.flatMap(({ statement }) => statement ?? [])
  return {
    state: 'found',
    edits: sites.flatMap(({ edits }) => edits),
    imports: way.kind === 'setup' ? [] : [...new Set(sites.map(({ name }) => name))],
    statements,
  }
}

/** It attaches every run, and binds no name in the files that load it. */
function loadsSetup({ text }: Source): boolean {
  return /['"][^'"]*hookspan\.setup(\.[cm]?[jt]s)?['"]/.test(text)
}

interface Site {
  readonly binding: Binding
  /** What of the adapter stands there. */
  readonly name: string
  readonly edits: readonly Edit[]
  readonly statement?: string
}

/** Sites, and reasons why what was found is none. */
function sitesOf(
  source: Source,
  bindings: readonly Binding[],
  way: Way,
  dispatcher: string,
): (Site | string)[] {
  if (way.kind === 'object') return objects(source, bindings, way.observe, dispatcher)
  if (way.kind === 'option') return options(source, bindings, way, dispatcher)
  if (way.kind === 'function') return functions(source, bindings, way, dispatcher)
  return bindings
    .filter(({ imported }) => imported === '*' || way.starts.includes(imported))
    .map((binding) => ({ binding, name: way.observe, edits: [] }))
}

/** Why it is not certain that the name means what it was imported as. */
function doubt(source: Source, bindings: readonly Binding[], way: Way): string | undefined {
  const twice = bindings.find(({ local }) => source.declared.has(local))
  if (twice !== undefined) return `\`${twice.local}\` is bound twice in it`
  if (importsOf(way).some((name) => new RegExp(`\\b${name}\\b`).test(source.text))) {
    return `it has a \`${importsOf(way).find((name) => source.text.includes(name))}\` already`
  }
  return undefined
}

function objects(
  { program, text }: Source,
  bindings: readonly Binding[],
  observe: Readonly<Record<string, string>>,
  dispatcher: string,
): (Site | string)[] {
  return [...nodesOf(program)].flatMap((node) => {
    if (node.type !== 'NewExpression') return []
    const made = madeBy(node.callee, bindings, Object.keys(observe))
    if (made === undefined) return []
    if (!text.startsWith('new', node.start)) return 'its types cannot be told from its code'
    const name = observe[made.name] as string
    if (/mcpToTool|helpers\/beta\/mcp/.test(text) && name === 'observeMcpClient') {
      return 'another SDK calls the tools of its client, which would show twice'
    }
    const edits = [
      { start: node.start, end: node.start, text: `${name}(` },
      { start: node.end, end: node.end, text: `, ${give(dispatcher)})` },
    ]
    return { binding: made.binding, name, edits }
  })
}

function options(
  { program, text }: Source,
  bindings: readonly Binding[],
  { makes, option, item }: Extract<Way, { kind: 'option' }>,
  dispatcher: string,
): (Site | string)[] {
  return [...nodesOf(program)].flatMap((node) => {
    if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return []
    const made = madeBy(node.callee, bindings, makes)
    if (made === undefined) return []
    const [given] = node.arguments as (SyntaxNode | undefined)[]
    if (given?.type !== 'ObjectExpression') return `what \`${made.name}\` takes is written elsewhere`
    const edit = inList(text, given, option, `${item}(${give(dispatcher)})`)
    return typeof edit === 'string' ? edit : { binding: made.binding, name: item, edits: [edit] }
  })
}

/** Puts the item before all others of the list, or the list with it before all other options. */
function inList(text: string, given: SyntaxNode, option: string, item: string): Edit | string {
  const properties = given.properties as SyntaxNode[]
  const named = properties.find(({ key, computed }) => !computed && (key?.name ?? key?.value) === option)
  if (named !== undefined) {
    if (named.value.type !== 'ArrayExpression') return `its \`${option}\` is written elsewhere`
    const [first] = named.value.elements as (SyntaxNode | null)[]
    const at = first?.start ?? named.value.start + 1
    return { start: at, end: at, text: first == null ? item : `${item}, ` }
  }
  if (properties.some(({ type }) => type === 'SpreadElement')) {
    return `what it spreads may have a \`${option}\` of its own`
  }
  const [first] = properties
  const at = first?.start ?? given.start + 1
  const gap = text.slice(given.start + 1, at)
  const list = `${option}: [${item}]`
  if (first === undefined) return { start: at, end: at, text: ` ${list} ` }
  const between = gap.includes('\n') ? gap.slice(gap.lastIndexOf('\n')) : ' '
  return { start: at, end: at, text: `${list},${between}` }
}

function functions(
  source: Source,
  bindings: readonly Binding[],
  { names, observe, takes }: Extract<Way, { kind: 'function' }>,
  dispatcher: string,
): (Site | string)[] {
  const wanted = bindings.filter(({ imported }) => imported === '*' || names.includes(imported))
  const whole = wanted.find(({ imported, call }) => imported === '*' && call === undefined)
  if (whole !== undefined) return [`all of the SDK is one name in it, \`${whole.local}\``]
  const [required] = wanted.filter(({ call }) => call !== undefined)
  if (required?.call !== undefined) {
    if (takes === 'function') return ['it is loaded by `require()`']
    const { start, end } = required.call
    const edits = [
      { start, end: start, text: `${observe}(` },
      { start: end, end, text: `, ${give(dispatcher)})` },
    ]
    return wanted.some(({ call }) => call !== required.call)
      ? ['it loads the SDK twice']
      : [{ binding: required, name: observe, edits }]
  }
  const why = wanted.map((binding) => notConstant(source, binding)).find((one) => one !== undefined)
  if (why !== undefined) return [why]
  const renamed = wanted.map((binding) => ({
    binding,
    own: freeName(source.text, `sdk_${binding.imported}`),
  }))
  const own = renamed.map(({ binding, own: name }) => `${binding.imported}: ${name}`).join(', ')
  const locals = wanted.map(({ imported, local }) => (imported === local ? local : `${imported}: ${local}`))
  const statement =
    takes === 'module'
      ? `const { ${locals.join(', ')} } = ${observe}({ ${own} }, ${give(dispatcher)})`
      : `const ${wanted[0]?.local} = ${observe}(${renamed[0]?.own}, ${give(dispatcher)})`
  return renamed.map(({ binding, own: name }, index) => ({
    binding,
    name: observe,
    edits: [
      {
        start: binding.specifier.start,
        end: binding.specifier.end,
        text: `${binding.imported} as ${name}`,
      },
    ],
    ...(index === 0 && { statement }),
  }))
}

/** Why the name cannot be bound by a statement behind the imports, instead of by an import. */
function notConstant(
  { text, withoutTypes, program }: Source,
  { local, specifier }: Binding,
): string | undefined {
  const count = (where: string) => where.match(new RegExp(`\\b${local}\\b`, 'g'))?.length
  if (count(text) !== count(withoutTypes)) return `\`${local}\` is used as a type in it`
  const body = program.body as SyntaxNode[]
  const last = body.findLast(({ type }) => type === 'ImportDeclaration')
  const early = body
    .filter(({ type, start }) => type !== 'ImportDeclaration' && start < (last?.start ?? 0))
    .some((statement) => [...nodesOf(statement)].some((node) => node.name === local))
  if (early) return `\`${local}\` is used before its last import`
  return specifier.local?.name === local ? undefined : `\`${local}\` is imported in a way that is not known`
}

/** What a `new` or a call is of: an imported name, or a member of an imported whole. */
function madeBy(
  callee: SyntaxNode,
  bindings: readonly Binding[],
  names: readonly string[],
): { binding: Binding; name: string } | undefined {
  if (callee.type === 'Identifier') {
    const binding = bindings.find(({ local }) => local === callee.name)
    if (binding === undefined) return undefined
    // What a CommonJS package is, is its class.
    const name = binding.imported === '*' && binding.call !== undefined ? 'default' : binding.imported
    return names.includes(name) ? { binding, name } : undefined
  }
  if (callee.type !== 'MemberExpression' || callee.computed || callee.object.type !== 'Identifier')
    return undefined
  const binding = bindings.find(({ local }) => local === callee.object.name)
  const { name } = callee.property
  if (binding === undefined || !['*', 'default'].includes(binding.imported)) return undefined
  return names.includes(name) ? { binding, name } : undefined
}

const give = (dispatcher: string) =>
  dispatcher === 'dispatcher' ? '{ dispatcher }' : `{ dispatcher: ${dispatcher} }`

/** The name, or one like it that the text does not have. */
export function freeName(text: string, wanted: string): string {
  const plain = wanted.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
  for (let number = 1; ; number++) {
    const name = number === 1 ? plain : `${plain}${number}`
    if (!new RegExp(`\\b${name}\\b`).test(text)) return name
  }
}
