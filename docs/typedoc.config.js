import { readFileSync } from 'node:fs'

/** The API reference: one page for each subpath that a user can import, out of the docstrings of the sources. */
const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const sources = Object.values(exports).flatMap((target) =>
  typeof target === 'string' ? [] : [target.default.replace(/^\.\/dist\/(.*)\.js$/, '../src/$1.ts')],
)

export default {
  entryPoints: sources,
  tsconfig: '../tsconfig.json',
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  out: 'api',
  entryFileName: 'modules',
  readme: 'none',
  // The sources are checked by the compiler that they are written for; this one only reads them.
  skipErrorChecking: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  disableSources: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: 'table',
  sanitizeComments: true,
  logLevel: 'Error',
}
