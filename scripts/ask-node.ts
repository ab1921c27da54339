import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Of what is compiled, what Node itself is asked for. */
export function askNode(folder: string): void {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue
    const path = join(folder, file)
    const code = readFileSync(path, 'utf8')
    const asked = withNodesImports(withLazyBuiltins(code))
    if (asked !== code) writeFileSync(path, asked)
  }
}

/**
 * Asks these modules of Node for what is used of them. `import` asks each of their names for what it stands for, and behind
 * some of those is much that we do not use: all of `fetch`, a parser of arguments, `fs.promises`. What a bundler puts in
 * the place of an imported `createRequire` knows only what is in the bundle.
 */
function withLazyBuiltins(code: string): string {
  return code.replace(
    /^import \{([^}]*)\} from '(node:(?:fs|http|module|util))';$/gm,
    (_all, names: string, module: string) =>
      `const {${names.replaceAll(' as ', ': ')}} = process.getBuiltinModule('${module}');`,
  )
}

/** What is imported by the path of a file of the user's is not in a bundle: bundlers leave it to Node. */
function withNodesImports(code: string): string {
  return code.replaceAll(
    'import(__rewriteRelativeImportExtension(',
    'import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ (',
  )
}
