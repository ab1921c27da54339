import { expect } from 'vitest'
import type { CallPlan } from './plan.ts'
import type { Seen } from './world.ts'

type Call = Seen['calls'][number]

const isShown = (line: string) => line.startsWith('shown')
const hidden = (lines: readonly string[], { api, reader }: CallPlan) => {
  // Of an abort when all of a stream has come to us, nobody knows what Google's client would throw.
  const said = (line: string) =>
    api === 'interactions' && reader === 'aborts' ? line.replace(/(reading throws).*/, '$1') : line
  return [...new Set(lines.filter((line) => !isShown(line)).map(said))].sort()
}

/** A call under gates that proceed: the same, but that nothing of a stream is shown before all of it has come. */
export function expectUnderGate(plan: CallPlan, bare: Call, gated: Call): void {
  const { way, stream, fault, abort, reader } = plan
  expect(gated.wire).toEqual(bare.wire)
  if (way === 'asResponse' && stream) {
    const isRefused = bare.lines.some((line) => line.startsWith('response'))
    if (isRefused)
      expect(gated.lines).toEqual([expect.stringMatching(/^the call throws HookspanError .*CALL_DENIED/)])
    else expect(gated.lines).toEqual(bare.lines)
    return
  }
  // What a gate cannot read it does not decide on, and nobody is given it.
  if (way === 'asResponse' && gated.lines.length === 1 && (fault !== 'none' || abort !== 'never')) {
    expect(gated.lines).toEqual([expect.stringMatching(/^the call throws /)])
    return
  }
  const isWhole =
    ['none', 'empty', 'unfinished'].includes(fault) && ['never', 'before', 'called'].includes(abort)
  if (!stream || (isWhole && reader !== 'aborts')) return expect(gated.lines).toEqual(bare.lines)
  const [was, is] = [bare, gated].map(({ lines }) => lines.filter(isShown)) as [string[], string[]]
  expect(was.slice(0, is.length)).toEqual(is)
  // Who leaves before the fault does not meet it where chunks come one by one.
  if (!['breaks', 'next', 'cancels'].includes(reader))
    expect(hidden(gated.lines, plan)).toEqual(hidden(bare.lines, plan))
}
