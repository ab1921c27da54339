/** The pages of the site, in the order in which they are read. The sidebar, llms.txt and the tests walk this list. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DOCS = fileURLToPath(new URL('..', import.meta.url))
export const REPOSITORY = 'https://github.com/hookspan/hookspan'

interface Section {
  readonly text: string
  /** Paths below docs, without `.md`. */
  readonly pages: readonly string[]
  /** A folder whose other pages follow by themselves. */
  readonly folder?: string
}

const SECTIONS: readonly Section[] = [
  { text: 'Begin', pages: ['start', 'concepts'] },
  {
    text: 'Guides',
    pages: [
      'debugging',
      'testing-an-agent',
      'production',
      'promises',
      'durable-runs',
      'durable-engines',
      'mocking',
      'your-own-loop',
    ],
  },
  { text: 'Tracing', pages: ['tracing', 'viewer', 'fleet', 'team-store'] },
  { text: 'Deciding', pages: ['gates-and-approvals', 'policies'] },
  { text: 'Adapters', pages: ['adapters/index'], folder: 'adapters' },
  { text: 'Backends', pages: ['backends/index'], folder: 'backends' },
  { text: 'Compared', pages: ['comparison', 'coming-from', 'upgrading'] },
  {
    text: 'Reference',
    pages: ['attributes', 'errors', 'environment', 'adapters', 'supported-versions', 'snippets'],
  },
]

/** Not in the sidebar's sections: the front page, and what is made by TypeDoc. */
const ELSEWHERE = /^(index|api\/.*|decisions\/.*)$/

export interface Page {
  /** Below docs, without `.md`. */
  readonly path: string
  readonly title: string
  /** Its first paragraph, as plain text, on one line. */
  readonly summary: string
  readonly text: string
}

/** Every page that is written by hand, the front page aside. */
export function sections(): { text: string; pages: Page[] }[] {
  const written = pathsIn('')
  const listed = new Set(SECTIONS.flatMap(({ pages }) => pages))
  const inFolders = SECTIONS.flatMap(({ folder }) => (folder === undefined ? [] : `${folder}/`))
  const grouped = SECTIONS.map(({ text, pages, folder }) => ({
    text,
    paths: [
      ...pages.filter((path) => written.includes(path)),
      ...written.filter((path) => folder !== undefined && path.startsWith(`${folder}/`) && !listed.has(path)),
    ],
  }))
  const more = written.filter(
    (path) =>
      !listed.has(path) && !ELSEWHERE.test(path) && !inFolders.some((folder) => path.startsWith(folder)),
  )
  return [
    ...grouped,
    { text: 'More', paths: more },
    { text: 'Decisions', paths: written.filter((path) => path.startsWith('decisions/')) },
  ]
    .filter(({ paths }) => paths.length > 0)
    .map(({ text, paths }) => ({ text, pages: paths.map(pageAt) }))
}

/** The pages made by TypeDoc, as the names that a user imports. Empty before they are made. */
export function apiPages(): { path: string; name: string }[] {
  return pathsIn('api/')
    .map((path) => ({ path, name: importedAs(path) }))
    .sort((one, other) => one.name.localeCompare(other.name))
}

/** `api/adapters/openai` is imported as `hookspan/openai`. */
export function importedAs(path: string): string {
  const module = path.replace(/^api\//, '').replace(/^(adapters|durable)\//, '')
  return module === 'index' ? 'hookspan' : `hookspan/${module}`
}

function pathsIn(folder: string): string[] {
  if (!existsSync(`${DOCS}${folder}`)) return []
  return readdirSync(`${DOCS}${folder}`, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.name === 'node_modules' || entry.name.startsWith('.')) return []
      if (entry.isDirectory()) {
        return folder === '' && entry.name === 'api' ? [] : pathsIn(`${folder}${entry.name}/`)
      }
      return entry.name.endsWith('.md') ? [`${folder}${entry.name.slice(0, -'.md'.length)}`] : []
    })
    .sort()
}

function pageAt(path: string): Page {
  const text = readFileSync(`${DOCS}${path}.md`, 'utf8').replace(/^---\n[\s\S]*?\n---\n/, '')
  const title = /^# (.+)$/m.exec(text)?.[1] ?? path
  const paragraph = text
    .replace(/<!--[\s\S]*?-->/g, '')
    .split(/\n{2,}/)
    .find((part) => /^[\p{L}`*]/u.test(part.trim()))
  const summary = (paragraph ?? '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { path, title, summary, text }
}
