/** What is read by coding agents: the list of pages, and all of them in one file. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiPages, REPOSITORY, sections } from './pages.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { description } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

/** Writes llms.txt, llms-full.txt, and each page as the Markdown that it is made of. */
export function writeLlms(outDir: string, base: string): void {
  const groups = sections()
  const pages = groups.flatMap((group) => group.pages)
  const api = apiPages()
  const lines = groups.flatMap(({ text, pages }) => [
    `## ${text}`,
    '',
    ...pages.map(({ path, title, summary }) => `- [${title}](${base}${path}.md): ${summary}`),
    '',
  ])
  const list = [
    '# hookspan',
    '',
    `> ${description}`,
    '',
    `Every page is also there as Markdown, under the addresses below. All of them in one file: [llms-full.txt](${base}llms-full.txt).`,
    `How to attach, mock, gate and read traces, for an agent that writes code: [SKILL.md](${base}SKILL.md), in the package as skills/hookspan/SKILL.md.`,
    '',
    ...lines,
    '## API',
    '',
    ...api.map(
      ({ path, name }) => `- [${name}](${base}${path}.md): every name that it exports, with its docstring`,
    ),
    '',
  ]
  const readme = readFileSync(`${ROOT}README.md`, 'utf8')
  const skill = readFileSync(`${ROOT}skills/hookspan/SKILL.md`, 'utf8')
  const whole = [
    `<!-- ${REPOSITORY}/blob/main/README.md -->\n\n${readme.trim()}`,
    ...pages.map(({ path, text }) => `<!-- ${base}${path}.md -->\n\n${text.trim()}`),
  ]
  put(`${outDir}/llms.txt`, list.join('\n'))
  put(`${outDir}/llms-full.txt`, `${whole.join('\n\n---\n\n')}\n`)
  put(`${outDir}/SKILL.md`, skill)
  for (const { path, text } of pages) put(`${outDir}/${path}.md`, text)
  for (const { path } of api) {
    put(`${outDir}/${path}.md`, readFileSync(`${ROOT}docs/${path}.md`, 'utf8'))
  }
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
