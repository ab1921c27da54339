import { existsSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'
import type { Source } from './parse.ts'
import type { Project } from './project.ts'
import { readTsConfig } from './tsconfig.ts'

interface Placed {
  readonly file: string
  readonly source: Source
}

/** In these each file is a route, or a function of its own, of Nuxt, Astro, Next.js, Nitro, Vercel and their like. */
const ROUTES = /^(pages|routes|api|middleware|plugins|functions)$/

/** Where the module with the dispatcher goes: beside those that use it, in their language and kind. */
export function setupPath({ root, isModule }: Project, users: readonly Placed[]): string {
  const typed = users.filter(({ source }) => source.language === 'ts')
  const inTs = users.length === 0 ? existsSync(join(root, 'tsconfig.json')) : typed.length * 2 >= users.length
  const same = users.filter(({ source }) => (source.language === 'ts') === inTs)
  const folder = same.length === 0 ? (existsSync(join(root, 'src')) ? 'src' : '') : commonFolder(same)
  const name = `hookspan.setup${inTs ? typeExtension(same) : codeExtension(same, isModule)}`
  return folder === '' ? name : `${folder}/${name}`
}

function typeExtension(users: readonly Placed[]): string {
  const extensions = new Set(users.map(({ file }) => extname(file)))
  const [only] = extensions
  return extensions.size === 1 && only !== undefined ? only : '.ts'
}

/** A module can be loaded by both; what is required can be, too, but has to be written otherwise. */
function codeExtension(users: readonly Placed[], isModule: boolean): string {
  if (users.length === 0) return isModule ? '.mjs' : '.cjs'
  return users.every(({ source }) => source.syntax === 'require') ? '.cjs' : '.mjs'
}

function commonFolder(users: readonly Placed[]): string {
  const [first = [], ...others] = users.map(({ file }) => dirname(file).split('/'))
  const count = first.findIndex(
    (part, index) => ROUTES.test(part) || others.some((parts) => parts[index] !== part),
  )
  const common = (count < 0 ? first : first.slice(0, count)).join('/')
  return common === '.' ? '' : common
}

/** How the file imports the setup; TypeScript does it in one of three ways, by who runs or compiles it. */
export function writtenAs(
  project: Project,
  file: string,
  setup: string,
  sources: readonly { readonly file: string; readonly text: string }[],
): string {
  const path = pathBetween(file, setup)
  const own = extname(setup)
  if (!/ts$/.test(own)) return path
  const others = sources.filter((one) => /ts$/.test(one.file)).sort((one) => (one.file === file ? -1 : 0))
  const seen = others
    .map(({ text }) => /\bfrom\s+['"]\.{1,2}\/[^'"]*?(\.[cm]?[jt]s)?['"]/.exec(text))
    .find((one) => one !== null)
  const ending = seen == null ? endingBy(project) : (seen[1] ?? '')
  if (ending === '') return path.slice(0, -own.length)
  return path.slice(0, -own.length) + (/ts$/.test(ending) ? own : own.replace('ts', 'js'))
}

/** Without a tsconfig.json, Node runs it as it is. */
function endingBy({ root, isModule }: Project): '.ts' | '.js' | '' {
  const options = readTsConfig(root)?.options
  if (
    options === undefined ||
    options.has('allowImportingTsExtensions') ||
    options.has('rewriteRelativeImportExtensions')
  ) {
    return '.ts'
  }
  const modules = `${options.get('moduleResolution') ?? ''} ${options.get('module') ?? ''}`.toLowerCase()
  if (/bundler|preserve/.test(modules)) return ''
  return /node(16|18|20|next)/.test(modules) || isModule ? '.js' : ''
}

function pathBetween(from: string, to: string): string {
  const way = posix.relative(posix.dirname(from), to)
  return way.startsWith('.') ? way : `./${way}`
}
