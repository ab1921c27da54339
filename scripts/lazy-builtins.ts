import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Asks these modules of Node for what is used of them. `import` asks each of their names for what it stands for, and behind
 * some of those is much that we do not use: all of `fetch`, a parser of arguments, `fs.promises`.
 */
export function lazyBuiltins(folder: string): void {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue
    const path = join(folder, file)
    const code = readFileSync(path, 'utf8')
    const asked = withLazyBuiltins(code)
    if (asked !== code) writeFileSync(path, asked)
  }
}

export function withLazyBuiltins(code: string): string {
  return code.replace(
    /^import \{([^}]*)\} from '(node:(?:fs|http|util))';$/gm,
    (_all, names: string, module: string) =>
      `const {${names.replaceAll(' as ', ': ')}} = process.getBuiltinModule('${module}');`,
  )
}
