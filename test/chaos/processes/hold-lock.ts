/** Holds the lock of a SQLite file until its standard input ends. */
import { DatabaseSync } from 'node:sqlite'

const lock = new DatabaseSync(process.argv[2] ?? '')
lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
process.stdout.write('held\n')
process.stdin.resume().once('end', () => process.exit(0))
