import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTsConfig } from './tsconfig.ts'

const EXTENSIONS = ['js', 'ts', 'mjs', 'mts', 'cjs', 'cts']

/** Where the first test goes, or is: where vitest looks, by what its config includes. */
export function testPlace(
  root: string,
  types: boolean,
): { readonly file: string; readonly isThere: boolean } {
  const folder = ['test', 'tests', '__tests__'].find((name) => existsSync(join(root, name))) ?? 'test'
  // The compiler of the project would take one in TypeScript.
  const kinds = !types ? ['mjs', 'js'] : readTsConfig(root)?.emitsAll ? ['mjs', 'mts', 'ts'] : ['mts', 'ts']
  const named = (extensions: readonly string[]) =>
    [folder, 'src'].flatMap((at) =>
      ['test', 'spec'].flatMap((kind) =>
        extensions.map((extension) => `${at}/hookspan.${kind}.${extension}`),
      ),
    )
  const there = named(['mjs', 'mts', 'js', 'ts']).find((file) => existsSync(join(root, file)))
  if (there !== undefined) return { file: there, isThere: true }
  const places = named(kinds)
  const looked = includedBy(root).map(expressionOf)
  const found = places.find((file) => looked.length === 0 || looked.some((glob) => glob.test(file)))
  return { file: found ?? (places[0] as string), isThere: false }
}

/** What the config says as text. What it computes is not looked at. */
function includedBy(root: string): string[] {
  const config = ['vitest', 'vite']
    .flatMap((name) => EXTENSIONS.map((extension) => join(root, `${name}.config.${extension}`)))
    .find((file) => existsSync(file))
  if (config === undefined) return []
  const lists = readFileSync(config, 'utf8').matchAll(
    /\binclude\s*:\s*\[((?:[^\]'"`]|'[^']*'|"[^"]*"|`[^`]*`)*)\]/g,
  )
  return [...lists]
    .flatMap(([, list = '']) => [...list.matchAll(/(['"`])(.*?)\1/g)])
    .flatMap(([, , glob = '']) => (/test|spec/.test(glob) ? glob : []))
}

function expressionOf(glob: string): RegExp {
  const text = glob
    .replace(/^\.\//, '')
    .replace(/\*\*\/|\*+|\?\(([^)]*)\)|\{([^}]*)\}|[?.+^$()|\\]/g, (sign, maybe, either) => {
      if (sign === '**/') return '(?:.*/)?'
      if (maybe !== undefined) return `(?:${maybe})?`
      if (either !== undefined) return `(?:${either.replaceAll(',', '|')})`
      return { '*': '[^/]*', '**': '.*', '?': '[^/]' }[sign as string] ?? `\\${sign}`
    })
  return new RegExp(`^${text}$`)
}
