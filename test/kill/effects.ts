/**
 * Loaded before anything else of a process (`node --import`): sees every call that may change a file or a database,
 * whoever makes it. Kills the process with SIGKILL right after the one whose number KILL_AFTER says; else writes down, into
 * EFFECTS, after which calls the folder of the run was another. Nothing but such a call can be told apart from outside: a
 * process that is killed at any `await` leaves the folder as the call before it did.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'

const { KILL_AFTER, EFFECTS, FOLDER = '' } = process.env
const { readdirSync, readFileSync, writeFileSync } = fs

/** One call after which the folder was another. */
export interface Effect {
  /** Which of all calls it was. */
  readonly call: number
  readonly name: string
}

let calls = 0
let looking = false
let state = EFFECTS === undefined ? '' : stateOf()
const effects: Effect[] = []

/** What is on the disk; SQLite's index of its own log is made anew by whoever opens the database. */
function stateOf(): string {
  looking = true
  const hash = createHash('sha256')
  for (const name of readdirSync(FOLDER).sort()) {
    if (!name.endsWith('-shm')) hash.update(`${name}\n`).update(readFileSync(`${FOLDER}/${name}`))
  }
  looking = false
  return hash.digest('hex')
}

function called(name: string): void {
  // Looking at the folder takes calls, too.
  if (looking) return
  calls++
  if (String(calls) === KILL_AFTER) process.kill(process.pid, 'SIGKILL')
  if (EFFECTS === undefined) return
  const now = stateOf()
  if (now !== state) effects.push({ call: calls, name })
  state = now
}

function watch(target: object, what: string): void {
  for (const key of Object.getOwnPropertyNames(target)) {
    const { value, writable, configurable } = Object.getOwnPropertyDescriptor(target, key) ?? {}
    if (typeof value !== 'function' || key === 'constructor' || /^[A-Z]/.test(key)) continue
    if (writable !== true && configurable !== true) continue
    const watched = function (this: unknown, ...args: unknown[]) {
      const given = value.apply(this, args)
      if (!(given instanceof Promise)) {
        called(`${what}.${key}`)
        return given
      }
      return given.finally(() => called(`${what}.${key}`))
    }
    Object.defineProperty(target, key, { value: Object.assign(watched, value), writable, configurable })
  }
}

const { DatabaseSync, StatementSync } = createRequire(import.meta.url)('node:sqlite')
watch(DatabaseSync.prototype, 'database')
watch(StatementSync.prototype, 'statement')
watch(promises, 'promises')
watch(fs, 'fs')
syncBuiltinESMExports()

if (EFFECTS !== undefined) {
  process.on('exit', () => {
    if (stateOf() !== state)
      effects.push({ call: Number.POSITIVE_INFINITY, name: 'something that nobody saw' })
    writeFileSync(EFFECTS, JSON.stringify(effects))
  })
}
