/**
 * Builds the documentation site into docs/.vitepress/dist, as files that any web server can give out: the API reference out of
 * the docstrings, then the pages. `--install` only installs the generator, which is a package of its own.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importedAs } from '../docs/.vitepress/pages.ts'
import { slugify } from '../docs/.vitepress/slug.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const docs = join(root, 'docs')

/** Nothing is done twice: a mark holds the digest of what the last run was made from. */
function onceFor(mark: string, digest: string, make: () => void): void {
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return
  make()
  writeFileSync(mark, digest)
}

function digestOf(paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}

function filesIn(folder: string, wanted: (path: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => wanted(path) && statSync(join(root, folder, path)).isFile())
    .sort()
    .map((path) => join(root, folder, path))
}

const sources = () => filesIn('src', (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))

const pages = () => [
  ...filesIn('docs', (path) => !/(^|\/)(node_modules|dist|cache)\//.test(path)),
  ...['package.json', 'README.md', 'skills/hookspan/SKILL.md'].map((path) => join(root, path)),
]

function run(program: string, ...args: string[]): void {
  execFileSync(join(docs, 'node_modules/.bin', program), args, { cwd: docs, stdio: 'inherit' })
}

function makeApi(): void {
  const api = join(docs, 'api')
  rmSync(api, { recursive: true, force: true })
  run('typedoc', '--options', 'typedoc.config.js')
  rmSync(join(api, 'modules.md'))
  const pages = readdirSync(api, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'))
  const texts = new Map(pages.map((path) => [path, readFileSync(join(api, path), 'utf8')]))
  for (const [path, text] of texts) {
    const name = importedAs(path.slice(0, -'.md'.length))
    const linked = text.replaceAll(
      /\]\(([^)#\s]*)#([^)\s]+)-\d+\)/g,
      (link, file: string, anchor: string) => {
        const target = texts.get(file === '' ? path : join(dirname(path), file))
        return target === undefined || anchorsOf(target).has(link.slice(link.indexOf('#') + 1, -1))
          ? link
          : `](${file}#${anchor})`
      },
    )
    writeFileSync(join(api, path), linked.replace(/^# .*$/m, `# ${name}`))
  }
}

/** TypeDoc counts names that differ in case alone as one and the same heading, now and then a heading too many. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of page.matchAll(/^#+ (.+)$/gm)) {
    const anchor = slugify(heading)
    let free = anchor
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`
    anchors.add(free)
  }
  return anchors
}

const lock = join(docs, 'package-lock.json')
onceFor(join(docs, 'node_modules/.hookspan-installed'), digestOf([lock]), () => {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: docs, stdio: 'inherit' })
})
if (!process.argv.includes('--install')) {
  const made = digestOf([...sources(), join(root, 'package.json'), join(docs, 'typedoc.config.js'), lock])
  onceFor(join(docs, 'api/.made-from'), made, makeApi)
  const site = `${digestOf(pages())} ${process.env.DOCS_BASE ?? '/'}`
  onceFor(join(docs, '.vitepress/dist/.made-from'), site, () => run('vitepress', 'build'))
}
