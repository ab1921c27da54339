/** Approvals on a disk that becomes full: what cannot be kept is refused, with the file's name for who runs the server, and may be given again. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { approvalRoutes, sqliteStore } from 'hookspan/approval'
import { expect, it, onTestFinished, vi } from 'vitest'
import { desk, pending } from '../approval/support.ts'
import { smallDisk } from './support/small-disk.ts'

const TOKEN = 'a token of some length'

it('an answer over HTTP is refused, the server says why, and it counts once there is room', async ({
  skip,
}) => {
  using disk = smallDisk(512 * 1024)
  if (disk === undefined) return skip('needs the right to mount a tmpfs')
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const path = `${disk.path}/approvals.db`
  const { approvals, call, ran, op } = desk({ store: sqliteStore({ path }) })
  // Before its disk is taken away.
  await using _ = { [Symbol.asyncDispose]: () => approvals.close() }
  const routes = approvalRoutes({ approvals, token: TOKEN })
  const outcome = call()
  const { id, argsDigest } = await pending(approvals)
  const answered = async () => {
    const reason = 'x'.repeat(1_500)
    const response = await routes(
      new Request(`http://localhost/hitl/approvals/${id}/respond`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ decision: 'approve', argsDigest, reason }),
      }),
    )
    return { status: response?.status, text: await response?.text() }
  }
  fill(disk.path)
  const refused = await answered()
  expect(refused).toMatchObject({ status: 500, text: expect.not.stringContaining(path) })
  const why = `The approvals in "${path}" cannot be used: database or disk is full.`
  expect(warn.mock.calls).toEqual([[expect.stringContaining(why)]])
  const other = { apiName: 'delete_order', args: { id: 'y'.repeat(20_000) } }
  const denied = await op.toolCall(other, () => 'deleted')
  expect(denied).toMatchObject({ code: 'approval_error', reason: expect.stringContaining(why) })
  expect(ran).toEqual([])

  for (const name of readdirSync(disk.path)) if (name.startsWith('ballast')) rmSync(`${disk.path}/${name}`)
  expect((await answered()).status).toBe(200)
  expect((await outcome).state).toBe('completed')
  expect(ran).toHaveLength(1)
})

function fill(folder: string): void {
  for (let bytes = 256 * 1024; bytes >= 1; bytes /= 2) {
    try {
      writeFileSync(`${folder}/ballast-${bytes}`, Buffer.alloc(bytes))
    } catch {
      // No room for so much.
    }
  }
}
