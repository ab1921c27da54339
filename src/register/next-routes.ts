import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { tell } from './tell.ts'

const ROUTE = /^(file:.*)\/\.next\/(?:dev\/)?server\/(?:app|pages)\//
/** Of what was built, and of what is served while it is written. */
const KEPT_OUT = ['.next/required-server-files.json', 'next.config.js', 'next.config.mjs', 'next.config.ts']

let met = false

/**
 * Next.js bundles what its routes import, unless it is told to leave that out: then no entry of an SDK is ever loaded, and nothing
 * else would say that nothing holds there.
 */
export function watchRoute(url: string): void {
  if (met) return
  const [, root] = ROUTE.exec(url) ?? []
  if (root === undefined) return
  met = true
  if (KEPT_OUT.some((name) => namesPackages(`${root}/${name}`))) return
  tell(
    'Next.js bundles the SDKs that its routes import: they are not attached, and no guard of hookspan.config.* holds there. ' +
      "Name them in next.config, as serverExternalPackages: ['ai', 'openai'].",
  )
}

function namesPackages(url: string): boolean {
  try {
    return /serverExternalPackages"?: *\[[^\]]/.test(readFileSync(fileURLToPath(url), 'utf8'))
  } catch {
    return false
  }
}
