/** Each row of docs/coming-from.md names what shows it; here it is made sure that this exists. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(`${root}docs/coming-from.md`, 'utf8')
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

const rows = page.split(/^(?=## )/m).flatMap((section) => {
  const tests = /\]\(\.\.\/(test\/[\w/.-]+)\)/.exec(section)?.[1]
  return [...section.matchAll(/^\| (?!There|---)(.*) \|$/gm)].map(([, row = '']) => {
    const cells = row.split(' | ')
    return { there: cells[0] ?? '', shownBy: cells.at(-1) ?? '', tests, cells: cells.length }
  })
})

/** The text of a test file, or of all in a folder. */
function textOf(path: string): string {
  if (!existsSync(path)) throw new Error(`There is no ${path}.`)
  if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8')
  return readdirSync(path)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`${path}/${name}`, 'utf8'))
    .join('\n')
}

it('has tables of three columns', () => {
  expect(rows.length).toBeGreaterThan(50)
  expect(rows.filter(({ cells, tests }) => cells !== 3 || tests === undefined)).toEqual([])
})

it.each(rows)('names a test that is there: $there', ({ shownBy, tests }) => {
  for (const proof of shownBy.split(/; |, (?=`)/)) {
    const [, path, title] = /^`([^`]+)`(?:: (.+))?$/.exec(proof) ?? []
    if (path === undefined) expect(textOf(`${root}${tests}`)).toContain(proof)
    else if (path.startsWith('npm run ')) expect(scripts).toHaveProperty(path.slice('npm run '.length))
    else {
      const whole = path.includes('/') ? path : `test/policies/${path}`
      expect(textOf(`${root}${whole}`)).toContain(title ?? '')
    }
  }
})
