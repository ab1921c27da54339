import { readFileSync } from 'node:fs'

/** A page of docs/. */
export function docsPage(path: string): string {
  return readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}
