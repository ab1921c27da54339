/** Holds the lock of a SQLite file, or with `write` what who writes to it has, until its standard input ends. */
import { DatabaseSync } from 'node:sqlite'

const lock = new DatabaseSync(process.argv[2] ?? '')
lock.exec(process.argv[3] === 'write' ? 'BEGIN IMMEDIATE' : 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
process.stdout.write('held\n')
process.stdin.resume().once('end', () => process.exit(0))
