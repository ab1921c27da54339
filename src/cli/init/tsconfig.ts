import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseExpressionAt } from 'acorn'
import type { SyntaxNode } from './parse.ts'

/** What tsconfig.json says itself: what it extends is not looked at. */
export interface TsConfig {
  /** Those that are not false. */
  readonly options: ReadonlyMap<string, unknown>
  /** It compiles whatever lies in the folder, a test as well: one beside the sources' folder moves the output, or is refused. */
  readonly emitsAll: boolean
}

/** JSON with comments is an expression. */
export function readTsConfig(root: string): TsConfig | undefined {
  const file = join(root, 'tsconfig.json')
  if (!existsSync(file)) return undefined
  try {
    const whole = parseExpressionAt(readFileSync(file, 'utf8'), 0, { ecmaVersion: 'latest' }) as SyntaxNode
    const field = (name: string) =>
      whole.properties.find(({ key }: SyntaxNode) => key.value === name)?.value as SyntaxNode | undefined
    const given: SyntaxNode[] = field('compilerOptions')?.properties ?? []
    const options = new Map(
      given.filter(({ value }) => value.value !== false).map(({ key, value }) => [key.value, value.value]),
    )
    const include: SyntaxNode[] | undefined = field('include')?.elements
    const takesAll = include?.some(({ value }) => /^(\.\/)?(\*|\.?$)/.test(String(value)))
    return { options, emitsAll: !options.has('noEmit') && (takesAll ?? field('files') === undefined) }
  } catch {
    return { options: new Map(), emitsAll: true }
  }
}
