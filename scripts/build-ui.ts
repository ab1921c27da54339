/** Bundles the viewer's page into `dist/viewer/ui`: one script, one style sheet, nothing to fetch from elsewhere. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export async function buildUi(): Promise<void> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const out = `${root}/dist/viewer/ui`
  mkdirSync(out, { recursive: true })
  await build({
    entryPoints: { app: `${root}/ui/src/main.tsx` },
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: out,
    logLevel: 'warning',
  })
  await build({
    entryPoints: { app: `${root}/ui/app.css` },
    bundle: true,
    minify: true,
    outdir: out,
    logLevel: 'warning',
  })
  for (const file of ['index.html', 'icon.svg']) copyFileSync(`${root}/ui/${file}`, `${out}/${file}`)
}

if (import.meta.main) await buildUi()
