/** What the site changes of a page, so that one text serves GitHub, the site and the registry's page. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MarkdownRenderer } from 'vitepress'
import { REPOSITORY } from './pages.ts'

const DOCS = fileURLToPath(new URL('..', import.meta.url))

/**
 * Links that leave docs lead to the repository, and drawings (`images/*.svg`) stand in the page itself, where the site's
 * theme gives them their colours.
 */
export function ours(md: MarkdownRenderer): void {
  md.core.ruler.push('links-out-of-docs', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href !== null) token.attrSet('href', outOfDocs(href, env.relativePath ?? ''))
    }
  })
  const image = md.renderer.rules.image
  md.renderer.rules.image = (tokens, index, options, env, self) => {
    const token = tokens[index]
    const path = normalize(`${dirname(env.relativePath ?? '')}/${token?.attrGet('src') ?? ''}`)
    if (token === undefined || !path.endsWith('.svg') || !existsSync(`${DOCS}${path}`)) {
      return image?.(tokens, index, options, env, self) ?? ''
    }
    const drawing = readFileSync(`${DOCS}${path}`, 'utf8').replace(/<(title|style)>[\s\S]*?<\/\1>\s*/g, '')
    return drawing.replace('<svg ', `<svg v-pre aria-label="${md.utils.escapeHtml(token.content)}" `)
  }
}

/** `../examples/x.ts` is not on the site: it is in the repository. */
function outOfDocs(href: string, page: string): string {
  if (/^[a-z]+:|^#|^\//.test(href)) return href
  const path = normalize(`${dirname(page)}/${href}`)
  return path.startsWith('../') ? `${REPOSITORY}/blob/main/${path.slice('../'.length)}` : href
}
