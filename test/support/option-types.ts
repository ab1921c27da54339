/** What the public functions take, read out of the types: who takes it, and the names of its fields. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** An object that a public function takes. */
export interface Taken {
  /** The function or method, as `execAgent`, `HookDispatcher#use` or `startTracing().shutdown`. */
  readonly who: string
  /** The type's name; its keys where it has none. */
  readonly type: string
  readonly keys: readonly string[]
  /** What each of them is, as TypeScript says it. Not known of what is added by hand. */
  readonly types?: Readonly<Record<string, string>>
}

/** The part of the compiler's API that is called here. */
interface Declaration {
  getSourceFile(): { fileName: string }
}
interface TypeSymbol {
  readonly name: string
  readonly flags: number
  readonly declarations?: readonly Declaration[]
}
interface Type {
  readonly flags: number
  readonly types?: readonly Type[]
  readonly symbol?: TypeSymbol
  readonly aliasSymbol?: TypeSymbol
  isUnion(): boolean
  isIntersection(): boolean
  getProperties(): readonly TypeSymbol[]
  getCallSignatures(): readonly Signature[]
  getConstructSignatures(): readonly Signature[]
}
interface Signature {
  getParameters(): readonly TypeSymbol[]
  getReturnType(): Type
}
interface Checker {
  getTypeOfSymbol(symbol: TypeSymbol): Type
  getDeclaredTypeOfSymbol(symbol: TypeSymbol): Type
  getAliasedSymbol(symbol: TypeSymbol): TypeSymbol
  getExportsOfModule(module: unknown): readonly TypeSymbol[]
  getSymbolAtLocation(node: unknown): unknown
  getTypeArguments(type: Type): readonly Type[]
  isArrayType(type: Type): boolean
  isTupleType(type: Type): boolean
  getAwaitedType(type: Type): Type | undefined
  typeToString(type: Type): string
}
interface Program {
  getTypeChecker(): Checker
  getSourceFile(path: string): unknown
}
interface Host {
  resolveModuleNameLiterals(
    names: readonly { text: string }[],
    file: string,
    redirect: unknown,
    options: object,
  ): unknown
}
interface Compiler {
  readonly sys: { readFile(path: string): string | undefined; fileExists(path: string): boolean }
  readonly TypeFlags: { readonly Object: number }
  readonly SymbolFlags: { readonly Alias: number; readonly Value: number; readonly Class: number }
  createCompilerHost(options: object): Host
  createProgram(files: readonly string[], options: object, host: Host): Program
  convertCompilerOptionsFromJson(json: unknown, folder: string): { options: object }
  resolveModuleName(name: string, file: string, options: object, host: Host): unknown
}

// The compiler that the schema generator brings: TypeScript 7 has no API to be called.
const here = createRequire(import.meta.url)
const ts = createRequire(here.resolve('ts-json-schema-generator'))('typescript') as Compiler

const root = fileURLToPath(new URL('../../', import.meta.url))
const json = (path: string) => JSON.parse(readFileSync(`${root}${path}`, 'utf8'))

function entryFiles(): string[] {
  const names = Object.keys(json('package.json').exports).filter(
    (name) => !/schemas|package\.json/.test(name),
  )
  return names.map((name) => {
    const places =
      name === '.'
        ? ['src/index.ts']
        : [
            `src/${name.slice(2)}/index.ts`,
            `src/adapters/${name.slice(2)}/index.ts`,
            `src/durable/${name.slice(2)}/index.ts`,
          ]
    const found = places.find((place) => ts.sys.fileExists(`${root}${place}`))
    if (found === undefined) throw new Error(`No source for the subpath ${name}.`)
    return `${root}${found}`
  })
}

function createProgram(files: readonly string[]): Program {
  const { compilerOptions } = json('tsconfig.json')
  const { options } = ts.convertCompilerOptionsFromJson({ ...compilerOptions, types: [], paths: {} }, root)
  const host = ts.createCompilerHost(options)
  // Types of packages are not ours, and reading them takes longer than all the rest.
  host.resolveModuleNameLiterals = (names, file) =>
    names.map(({ text }) =>
      text.startsWith('.') ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    )
  return ts.createProgram(files, options, host)
}

/**
 * Everything that is handed in to what the package exports, whatever is nested in it included, but for what is
 * nested in a type that `isOpaque`.
 */
export function optionTypes(isOpaque: (type: string) => boolean): Taken[] {
  const files = entryFiles()
  const program = createProgram(files)
  const walk = new Walk(program.getTypeChecker(), isOpaque)
  for (const file of files) walk.module(program.getSourceFile(file))
  return [...walk.taken.values()]
}

class Walk {
  readonly taken = new Map<string, Taken>()
  readonly #checker: Checker
  readonly #isOpaque: (type: string) => boolean

  constructor(checker: Checker, isOpaque: (type: string) => boolean) {
    this.#checker = checker
    this.#isOpaque = isOpaque
  }

  module(source: unknown): void {
    for (const exported of this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(source))) {
      const symbol =
        exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported
      if (!(symbol.flags & ts.SymbolFlags.Value)) continue
      const type = this.#checker.getTypeOfSymbol(symbol)
      for (const signature of type.getCallSignatures()) this.#function(exported.name, signature)
      if (!(symbol.flags & ts.SymbolFlags.Class)) continue
      for (const signature of type.getConstructSignatures())
        this.#parameters(`new ${exported.name}`, signature)
      this.#methods(`${exported.name}#`, this.#checker.getDeclaredTypeOfSymbol(symbol))
    }
  }

  #function(name: string, signature: Signature): void {
    this.#parameters(name, signature)
    const given = this.#checker.getAwaitedType(signature.getReturnType())
    if (given !== undefined && this.#isOurs(given) && !this.#isClass(given))
      this.#methods(`${name}().`, given)
  }

  #methods(prefix: string, type: Type): void {
    for (const member of type.getProperties()) {
      if (member.name.includes('#')) continue
      for (const signature of this.#checker.getTypeOfSymbol(member).getCallSignatures()) {
        this.#parameters(`${prefix}${member.name}`, signature)
      }
    }
  }

  #parameters(who: string, signature: Signature): void {
    for (const parameter of signature.getParameters())
      this.#value(who, this.#checker.getTypeOfSymbol(parameter))
  }

  #value(who: string, type: Type): void {
    if (type.isUnion()) {
      for (const part of type.types ?? []) this.#value(who, part)
      return
    }
    if (this.#checker.isArrayType(type) || this.#checker.isTupleType(type)) {
      for (const item of this.#checker.getTypeArguments(type)) this.#value(who, item)
      return
    }
    const parts = type.isIntersection() ? (type.types ?? []) : [type]
    // A text with a brand is an intersection, too.
    if (parts.some(({ flags }) => (flags & ts.TypeFlags.Object) === 0)) return
    if (type.getCallSignatures().length > 0 || !this.#isOurs(type) || this.#isClass(type)) return
    const keys = type.getProperties().map((property) => property.name)
    const text = this.#checker.typeToString(type).replace(/<.*>$/s, '')
    const name = /[{&]/.test(text) ? `{ ${keys.join(', ')} }` : text
    const id = `${who} ${name}`
    if (this.taken.has(id)) return
    const types = Object.fromEntries(
      type
        .getProperties()
        .map((property) => [
          property.name,
          this.#checker.typeToString(this.#checker.getTypeOfSymbol(property)),
        ]),
    )
    this.taken.set(id, { who, type: name, keys, types })
    if (this.#isOpaque(name)) return
    for (const property of type.getProperties()) this.#value(who, this.#checker.getTypeOfSymbol(property))
  }

  #isOurs(type: Type): boolean {
    const declarations = type.aliasSymbol?.declarations ?? type.symbol?.declarations ?? []
    return (
      type.isIntersection() ||
      declarations.some((one) => one.getSourceFile().fileName.startsWith(`${root}src`))
    )
  }

  #isClass(type: Type): boolean {
    return ((type.symbol?.flags ?? 0) & ts.SymbolFlags.Class) !== 0
  }
}
