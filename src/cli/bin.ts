#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 15)) {
  console.error(
    `hookspan: this is Node ${process.versions.node}, and hookspan needs 22.15 or newer. ` +
      'Install one from https://nodejs.org, or run `npx -p node@24 -p hookspan hookspan`.',
  )
  process.exit(2)
}

// Node 22 warns of its SQLite in each command that reads a store, and nobody who reads one can do anything about it.
const { emitWarning } = process
process.emitWarning = (...warned: unknown[]) => {
  if (!String(warned[0]).startsWith('SQLite is an experimental')) Reflect.apply(emitWarning, process, warned)
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  console.error(`hookspan: cannot write to the standard output: ${error.message}.`)
  process.exit(1)
})
// Nobody reads what is said, or its disk is full: a program that runs is not left alone for that, and its exit code counts.
process.stderr.on('error', () => {})
// Loaded only now: an old Node could not even read it.
void start(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})

async function start(args: string[]): Promise<number> {
  const plain = args[0] === 'run' ? (await import('./run/plain-run.ts')).plainRun(args) : undefined
  const { main } = plain === undefined ? await import('./program.ts') : { main: plain }
  return main(args)
}

export {}
