/** What each package manager keeps beside package.json, and what it is told to add a package. */
const ADD = [
  ['package-lock.json', 'npm install'],
  ['npm-shrinkwrap.json', 'npm install'],
  ['pnpm-lock.yaml', 'pnpm add'],
  ['yarn.lock', 'yarn add'],
  ['bun.lock', 'bun add'],
  ['bun.lockb', 'bun add'],
] as const

/** The line that adds packages to the project around `folder`: another manager than the project's own ruins what is installed. */
export function installLine(packages: readonly string[], folder = process.cwd()): string {
  return `${addIn(folder)} ${packages.join(' ')}`
}

/** What runs a command of the project: npx finds none that Yarn keeps in its archives, and fetches another. */
export function runner(folder = process.cwd()): 'npx' | 'yarn' {
  return addIn(folder) === 'yarn add' ? 'yarn' : 'npx'
}

function addIn(folder: string): string {
  const { existsSync } = process.getBuiltinModule('node:fs')
  const { dirname, join, resolve } = process.getBuiltinModule('node:path')
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = ADD.find(([lock]) => existsSync(join(at, lock)))
    if (found !== undefined) return found[1]
    if (dirname(at) === at) return 'npm install'
  }
}

/** What is said where hookspan's one peer that is not optional is not there: pnpm, Bun and npm install it, Yarn does not. */
export function missingApi(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  if (!isMissing || !/@opentelemetry\/api(?![\w-])/.test(String(message))) return undefined
  return `hookspan needs @opentelemetry/api, which is not installed. Run: ${installLine(['@opentelemetry/api'])}`
}
