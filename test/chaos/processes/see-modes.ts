/**
 * Loaded before anything else of a process (`node --import`): looks after every call that may make a file which of those
 * in FOLDER somebody else may read or write, and writes what it saw into SEEN.
 */
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'

const { FOLDER = '', SEEN = '' } = process.env
const { readdirSync, statSync, writeFileSync } = fs

const modes: Record<string, string[]> = {}
let looking = false

function look(): void {
  if (looking) return
  looking = true
  for (const name of readdirSync(FOLDER)) {
    const stat = statSync(`${FOLDER}/${name}`, { throwIfNoEntry: false })
    if (stat === undefined) continue
    const mode = (stat.mode & 0o777).toString(8)
    const seen = modes[name] ?? []
    if (!seen.includes(mode)) modes[name] = [...seen, mode]
  }
  looking = false
}

function watch(target: object): void {
  for (const key of Object.getOwnPropertyNames(target)) {
    const { value, writable, configurable } = Object.getOwnPropertyDescriptor(target, key) ?? {}
    if (typeof value !== 'function' || key === 'constructor' || /^[A-Z]/.test(key)) continue
    const watched = function (this: unknown, ...args: unknown[]) {
      const given = value.apply(this, args)
      look()
      return given
    }
    Object.defineProperty(target, key, { value: Object.assign(watched, value), writable, configurable })
  }
}

const { DatabaseSync, StatementSync } = createRequire(import.meta.url)('node:sqlite')
watch(DatabaseSync.prototype)
watch(StatementSync.prototype)
watch(fs)
syncBuiltinESMExports()
process.on('exit', () => writeFileSync(SEEN, JSON.stringify(modes)))
