/** The site, built, and looked at as a reader's browser and a coding agent would. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { apiPages, sections } from '../../docs/.vitepress/pages.ts'
import { SUBPATHS } from '../package/support.ts'
import { ROOT } from './blocks.ts'

const SITE = join(ROOT, 'docs/.vitepress/dist')

let files: string[]
beforeAll(async () => {
  const { stderr } = await promisify(execFile)(process.execPath, ['scripts/docs-site.ts'], {
    cwd: ROOT,
    maxBuffer: 64_000_000,
  })
  expect(stderr).not.toMatch(/dead link/i)
  files = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'))
})

const text = (path: string) => readFileSync(join(SITE, path), 'utf8')
const pages = () => files.filter((path) => path.endsWith('.html') && path !== '404.html')
const unescaped = (html: string) => html.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
const idsOf = (html: string) =>
  new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => unescaped(id)))

it('has every page that is written, and one for every subpath that a user imports', () => {
  const written = sections().flatMap(({ pages }) => pages.map(({ path }) => path))
  expect(written.length).toBeGreaterThan(30)
  expect(files).toEqual(expect.arrayContaining(['index.html', ...written.map((path) => `${path}.html`)]))
  expect(
    apiPages()
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...SUBPATHS].sort())
  expect(files).toEqual(expect.arrayContaining(apiPages().map(({ path }) => `${path}.html`)))
})

it('has the docstrings in its API reference', () => {
  const page = text('api/policies.html')
  expect(page).toContain('Holds a whole run, its sub-agents included, to limits.')
  expect(page).toContain('How often one agent may call the same tool')
})

it('links to pages and headings that are there', () => {
  const ids = new Map<string, Set<string>>()
  const broken = new Set<string>()
  const outside = new Set<string>()
  for (const page of pages()) {
    const html = text(page)
    for (const [, raw = ''] of html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)) {
      const href = unescaped(raw)
      if (/^[a-z]+:/.test(href)) {
        outside.add(href)
        continue
      }
      const [path = '', anchor] = href.split('#')
      const joined = path === '' ? page : posix.join(posix.dirname(`/${page}`), path).replace(/^\//, '')
      const absolute = path.startsWith('/') ? path.slice(1) : joined
      const target = absolute === '' || absolute.endsWith('/') ? `${absolute}index.html` : absolute
      const file = [target, `${target}.html`].find((one) => existsSync(join(SITE, one)))
      if (file === undefined) {
        broken.add(`${page}: ${href}`)
        continue
      }
      if (anchor === undefined || anchor === '' || !file.endsWith('.html')) continue
      if (!ids.has(file)) ids.set(file, idsOf(text(file)))
      if (!ids.get(file)?.has(decodeURIComponent(anchor))) broken.add(`${page}: ${href}`)
    }
  }
  // Others' pages may be away for a day, which is nothing that a test should fail for: they are listed.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  writeFileSync(join(ROOT, '.cache/docs-links-outside.txt'), `${[...outside].sort().join('\n')}\n`)
  console.log(`${pages().length} pages; ${outside.size} links lead outside: .cache/docs-links-outside.txt`)
  expect([...broken]).toEqual([])
})

it('links to files of the repository that are there', () => {
  const listed = readFileSync(join(ROOT, '.cache/docs-links-outside.txt'), 'utf8').split('\n')
  const own = listed.flatMap(
    (href) =>
      /^https:\/\/github\.com\/hookspan\/hookspan\/(?:blob|edit)\/main\/([^#?]+)/.exec(href)?.[1] ?? [],
  )
  expect(own.length).toBeGreaterThan(5)
  expect(own.filter((path) => !existsSync(join(ROOT, decodeURIComponent(path))))).toEqual([])
})

it('is made of files alone, and fetches nothing from others', () => {
  for (const page of pages()) {
    const loaded = [...text(page).matchAll(/<(?:script|link|img)\s[^>]*?(?:src|href)="(https?:[^"]*)"/g)]
    expect(
      loaded.map(([, address]) => address),
      page,
    ).toEqual([])
  }
  const styles = files.filter((path) => path.endsWith('.css')).map(text)
  expect(styles.join('\n')).not.toMatch(/url\(["']?https?:/)
})

it('can be searched, without a service', () => {
  const index = files.find((path) => /localSearchIndex/.test(path))
  expect(index).toBeDefined()
  expect(text(index ?? '')).toContain('loopGuard')
})

it('draws its pictures in the page, in colours that follow the theme', () => {
  const drawings = text('concepts.html').match(/<svg [^>]*class="hs"[\s\S]*?<\/svg>/g) ?? []
  expect(drawings).toHaveLength(4)
  expect(drawings.filter((drawing) => drawing.includes('<style'))).toEqual([])
})

describe('for coding agents', () => {
  it('llms.txt lists each page with what it is about, as Markdown that is there', () => {
    const list = text('llms.txt')
    expect(list).toMatch(/^# hookspan\n\n> /)
    const entries = [...list.matchAll(/^- \[([^\]]+)\]\(\/([^)]+)\): (.+)$/gm)]
    expect(entries.length).toBe(sections().flatMap(({ pages }) => pages).length + apiPages().length)
    for (const [, title = '', path = '', summary = ''] of entries) {
      expect(files).toContain(path)
      expect(text(path)).toMatch(/^# /m)
      expect([title, summary.length > 10]).toEqual([title, true])
    }
    expect(files).toContain('SKILL.md')
  })

  it('llms-full.txt has all of them in one', () => {
    const whole = text('llms-full.txt')
    for (const { title } of sections().flatMap(({ pages }) => pages)) expect(whole).toContain(`# ${title}\n`)
    expect(whole).not.toMatch(/^---\nlayout:/m)
  })
})
