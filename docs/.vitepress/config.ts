import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { writeLlms } from './llms.ts'
import { ours } from './markdown.ts'
import { apiPages, REPOSITORY, sections } from './pages.ts'
import { slugify } from './slug.ts'

const { description, version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

/** Where the site will lie on its host: `/`, or a folder with a slash at both ends. */
const base = process.env.DOCS_BASE ?? '/'

const folded = ['Adapters', 'Backends', 'Decisions']
const sidebar = [
  ...sections().map(({ text, pages }) => ({
    text,
    collapsed: folded.includes(text),
    items: pages.map(({ path, title }) => ({ text: title, link: `/${path.replace(/index$/, '')}` })),
  })),
  {
    text: 'API',
    collapsed: true,
    items: apiPages().map(({ path, name }) => ({ text: name, link: `/${path.replace(/index$/, '')}` })),
  },
]

export default defineConfig({
  title: 'hookspan',
  description,
  lang: 'en',
  // Or browsers ask for one that there is not.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  base,
  srcExclude: ['node_modules/**', 'api/modules.md'],
  // Files that a web server of any kind gives out as they are.
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    config: ours,
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Adapters', link: '/adapters/' },
      { text: 'API', link: '/api/' },
      { text: version, link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    ],
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: 'Mend this page' },
    footer: { message: 'MIT' },
  },
  buildEnd: ({ outDir }) => writeLlms(outDir, base),
})
