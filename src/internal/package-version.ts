import { readFileSync } from 'node:fs'

/** The package's version; `src` and `dist` are both two folders below package.json. */
export function packageVersion(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    return String((JSON.parse(text) as { version?: unknown }).version ?? '0.0.0')
  } catch {
    return '0.0.0'
  }
}
