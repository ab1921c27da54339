/** What people said, and what agents did, is in files that nobody but their owner may read: not for one moment. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { folder, request } from '../approval/support.ts'
import { tell } from './support/tell.ts'

const pathOf = (file: string) => fileURLToPath(new URL(`./processes/${file}.ts`, import.meta.url))

it('nobody else may read what is kept, from the first byte, whatever the umask lets through', () => {
  const place = folder()
  const files = `${place}/files`
  mkdirSync(files)
  const args = ['--no-warnings', '--import', pathOf('see-modes'), pathOf('private-files')]
  execFileSync(process.execPath, [...args, files, JSON.stringify(request('apr_1'))], {
    env: { ...process.env, FOLDER: files, SEEN: `${place}/seen.json` },
  })
  const modes = JSON.parse(readFileSync(`${place}/seen.json`, 'utf8')) as Record<string, string[]>
  const wanted = [
    'approvals.db',
    'approvals.db-shm',
    'approvals.db-wal',
    'audit.jsonl',
    'audit.jsonl.lock',
    'traces.db',
    'traces.db-shm',
    'traces.db-wal',
  ]
  tell({
    done: 'files made with umask 000, looked at after every call',
    times: Object.keys(modes).length,
    opened: Object.values(modes).filter((seen) => seen.join() !== '600').length,
  })
  expect(modes).toEqual(Object.fromEntries(wanted.map((name) => [name, ['600']])))
})
