import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AnswerWatch, type TellAnswer } from './answer-watch.ts'

function watching(tell: TellAnswer, closed = async (_id: string) => true, everyMs = 1) {
  const hold = setInterval(() => {}, 1_000)
  onTestFinished(() => clearInterval(hold))
  const approver = { requestApproval: async () => ({ decision: 'approve' as const }), closed }
  const watch = AnswerWatch.of(approver, everyMs, tell)
  if (watch === undefined) throw new Error('the approver can say what is closed')
  return watch
}

it('tells of an answer outside of the run that waits for it: what DBOS is asked inside is a step of that', async () => {
  const run = new AsyncLocalStorage<string>()
  const told = Promise.withResolvers<string | undefined>()
  const watch = watching(async () => told.resolve(run.getStore()))
  run.run('run-1', () => watch.add('run-1', ['request-1']))
  expect(await told.promise).toBeUndefined()
})

it.each([
  ['an engine that does not answer for some runs', 'tell', 40],
  ['a store that does not answer for some requests', 'closed', 30],
])('is not held up by %s', async (_what, hanging, many) => {
  const told: string[] = []
  const answered = async (by: string, id: string) => {
    if (by === hanging && id.startsWith('hangs')) await new Promise(() => {})
    return true
  }
  const watch = watching(
    async (run, id) => void ((await answered('tell', id)) && told.push(`${run} ${id}`)),
    (id) => answered('closed', id),
  )
  for (let n = 0; n < many; n++) watch.add(`run-${n}`, [`hangs-${n}`])
  watch.add('run-50', ['request-1', 'request-2'])
  await vi.waitFor(() => expect(told).toEqual(['run-50 request-1', 'run-50 request-2']), 5_000)
})

it('tells once, and what it cannot tell again after a time that is longer each time', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const tries: Record<string, number[]> = {}
  const watch = watching(async (_run, id) => {
    tries[id] = [...(tries[id] ?? []), performance.now()]
    if (id === 'lost' || (id === 'late' && tries[id].length < 3)) throw new Error('no such workflow')
  })
  watch.add('run-1', ['lost', 'late', 'told'])
  await vi.waitFor(() => expect(tries.lost?.length).toBeGreaterThan(6), 5_000)
  const lost = tries.lost ?? []
  // A timer may come a millisecond early.
  for (const [n, at] of lost.slice(0, -1).entries())
    expect(Number(lost[n + 1]) - at).toBeGreaterThan(2 ** n - 1.5)
  expect(tries.late).toHaveLength(3)
  expect(tries.told).toHaveLength(1)
  expect(warned).toHaveBeenCalledOnce()
})
