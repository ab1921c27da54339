import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** An example as a page quotes it, and what the page says around it. */
export interface Quote {
  /** Path in the repository. */
  readonly example: string
  /** The file name under which the reader is told to save it. */
  readonly saveAs: string | undefined
  readonly code: string
  /** What it prints, the command line above it left out. */
  readonly output: string | undefined
  /** The `npm install` line of the section, where it has one. */
  readonly install: string | undefined
}

/** The quoted examples of a page, in order. */
export function readReadme(page: string): Quote[] {
  return page.split(/^(?=## )/m).flatMap((section) => {
    const install = /^npm install .*$/m.exec(section)?.[0]
    const parts = section.split(/^(?=<!-- examples\/[\w./-]+ -->\n)/m)
    return parts.slice(1).map((part, index) => {
      const quoted = /^<!-- (\S+) -->\n```[jt]s\n([\s\S]*?)```\n/.exec(part)
      if (quoted === null) throw new Error(`There is no code behind ${part.slice(0, 60)}`)
      const [whole, example = '', code = ''] = quoted
      const before = parts[index] ?? ''
      const blocks = [...part.slice(whole.length).matchAll(/^```(\w*)\n([\s\S]*?)\n```$/gm)]
      const output = blocks.find(([, language]) => language === '')?.[2]?.replace(/^\$ .*\n/, '')
      const saveAs = /Save as `([\w.-]+)`:\n\n$/.exec(before)?.[1]
      return { example, saveAs, code, output, install }
    })
  })
}

/** What README and the skill have the reader install. test/package/paste.test.ts does. */
export function installLines(root: string): string[] {
  const pages = ['README.md', 'skills/hookspan/SKILL.md'].map((page) =>
    readFileSync(join(root, page), 'utf8'),
  )
  return [...new Set(pages.join('\n').match(/^npm install .*$/gm))]
}
