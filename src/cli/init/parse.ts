import * as nodeModule from 'node:module'
import { extname } from 'node:path'
import type { Node, Options } from 'acorn'
import { DecoratedParser, withoutFields } from './decorated.ts'

/** A source file that can be changed in place: offsets of the tree are offsets of the text, types or not. */
export interface Source {
  readonly text: string
  readonly syntax: 'import' | 'require'
  readonly language: 'js' | 'ts'
  readonly program: SyntaxNode
  readonly bindings: readonly Binding[]
  /** Every name that is bound beside those: where one is an SDK's, too, nobody can tell which is meant. */
  readonly declared: ReadonlySet<string>
  /** The text with blanks in the place of types. */
  readonly withoutTypes: string
}

/** A name that stands for something of a package. */
export interface Binding {
  readonly local: string
  readonly from: string
  /** `default`, `*` for all of it, or a name of its exports. */
  readonly imported: string
  /** Where the name is imported: `x`, or `x as y`. */
  readonly specifier: SyntaxNode
  /** The statement that imports it. */
  readonly statement: SyntaxNode
  /** The call of `require()`. */
  readonly call?: SyntaxNode
}

/** What there is of a node depends on its type, and is looked at before it is used. */
// biome-ignore lint/suspicious/noExplicitAny: the tree has a shape for each of some eighty types.
export type SyntaxNode = Node & { readonly [field: string]: any }

/** @throws Error in one line, why the file is none that can be changed. */
export function parseSource(file: string, text: string): Source {
  const extension = extname(file)
  if (/x$/.test(extension)) throw new Error('JSX is not edited')
  const language = /ts$/.test(extension) ? 'ts' : 'js'
  const withoutTypes = language === 'ts' ? stripTypes(text) : text
  const program = treeOf(withoutTypes)
  const bindings = program.body.flatMap((statement: SyntaxNode) => [
    ...imported(statement),
    ...required(statement),
  ]) as Binding[]
  const isModule = (program.body as SyntaxNode[]).some(({ type }) => /^(Import|Export)/.test(type))
  const own = new Set(bindings.map(({ specifier }) => specifier))
  return {
    text,
    syntax: isModule ? 'import' : 'require',
    language,
    program,
    bindings,
    declared: new Set([...nodesOf(program)].filter((node) => !own.has(node)).flatMap(declaredBy)),
    withoutTypes,
  }
}

/** The node, and all below it. */
export function* nodesOf(node: SyntaxNode): Generator<SyntaxNode> {
  yield node
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one?.type === 'string') yield* nodesOf(one)
    }
  }
}

/** Node does it, by putting blanks where types are. */
function stripTypes(text: string): string {
  const strip = nodeModule.stripTypeScriptTypes
  if (strip === undefined) throw new Error('TypeScript is read by Node alone')
  const { emitWarning } = process
  // It says that it is experimental; what it gives is checked here.
  process.emitWarning = () => {}
  try {
    const stripped = strip(withoutFields(text), { mode: 'strip' })
    if (stripped.length === text.length) return stripped
  } catch (error) {
    throw new Error(`it has syntax that is not only types (${firstLine(error)})`)
  } finally {
    process.emitWarning = emitWarning
  }
  throw new Error('its types cannot be told from its code')
}

function treeOf(text: string): SyntaxNode {
  const options: Options = { ecmaVersion: 'latest', sourceType: 'module' }
  try {
    return DecoratedParser.parse(text, options) as SyntaxNode
  } catch (error) {
    try {
      const script: Options = { ...options, sourceType: 'script', allowReturnOutsideFunction: true }
      return DecoratedParser.parse(text, script) as SyntaxNode
    } catch {
      throw new Error(`it cannot be read as JavaScript (${firstLine(error)})`)
    }
  }
}

function firstLine(error: unknown): string {
  return String((error as Error)?.message ?? error).split('\n')[0] ?? ''
}

function imported(statement: SyntaxNode): Binding[] {
  if (statement.type !== 'ImportDeclaration') return []
  return statement.specifiers.map((specifier: SyntaxNode) => ({
    local: specifier.local.name,
    from: statement.source.value,
    imported:
      specifier.type === 'ImportDefaultSpecifier'
        ? 'default'
        : specifier.type === 'ImportNamespaceSpecifier'
          ? '*'
          : (specifier.imported.name ?? specifier.imported.value),
    specifier,
    statement,
  }))
}

/** `const x = require('y')`, `const { x } = require('y')`, `const x = require('y').z`, at the top of the file. */
function required(statement: SyntaxNode): Binding[] {
  if (statement.type !== 'VariableDeclaration') return []
  return statement.declarations.flatMap((specifier: SyntaxNode): Binding[] => {
    const { id, init } = specifier
    const member = init?.type === 'MemberExpression' && !init.computed ? init : undefined
    const call: SyntaxNode = member?.object ?? init
    if (call?.type !== 'CallExpression' || call.callee.name !== 'require') return []
    const [argument] = call.arguments
    if (typeof argument?.value !== 'string') return []
    const one = { from: argument.value, specifier, statement, call }
    if (id.type === 'Identifier') return [{ ...one, local: id.name, imported: member?.property.name ?? '*' }]
    if (id.type !== 'ObjectPattern' || member !== undefined) return []
    return id.properties.flatMap(({ key, value }: SyntaxNode) =>
      key?.type === 'Identifier' && value?.type === 'Identifier'
        ? [{ ...one, local: value.name, imported: key.name }]
        : [],
    )
  })
}

const DECLARES: Readonly<Record<string, (node: SyntaxNode) => readonly unknown[]>> = {
  VariableDeclarator: ({ id }) => [id],
  FunctionDeclaration: ({ id, params }) => [id, ...params],
  FunctionExpression: ({ id, params }) => [id, ...params],
  ArrowFunctionExpression: ({ params }) => params,
  ClassDeclaration: ({ id }) => [id],
  ClassExpression: ({ id }) => [id],
  CatchClause: ({ param }) => [param],
}

function declaredBy(node: SyntaxNode): string[] {
  return (DECLARES[node.type]?.(node) ?? []).flatMap((pattern) => namesIn(pattern as SyntaxNode | null))
}

function namesIn(pattern: SyntaxNode | null | undefined): string[] {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern.name]
    case 'AssignmentPattern':
      return namesIn(pattern.left)
    case 'RestElement':
      return namesIn(pattern.argument)
    case 'ArrayPattern':
      return pattern.elements.flatMap(namesIn)
    case 'ObjectPattern':
      return pattern.properties.flatMap((one: SyntaxNode) => namesIn(one.value ?? one.argument))
    default:
      return []
  }
}
