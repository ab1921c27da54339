import { readFileSync } from 'node:fs'

/** The package's version; `src` and `dist` are both two folders below package.json. */
export function packageVersion(): string {
  try {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    // In a bundle it is another's, or none.
    return manifest.name === 'hookspan' ? manifest.version : '0.0.0'
  } catch {
    return '0.0.0'
  }
}
