/** What agents ask people: told in the bar, in the list of runs and in the run; answered in one dialog. */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { countAsked, type WaitingRequest } from '../../src/viewer/model/approval.ts'
import { viewerNowMs } from './clock.ts'
import { useKeys, useLive, useSource } from './hooks.ts'
import { useWaitingInTitle } from './page-title.ts'

interface Approvals {
  requests: WaitingRequest[]
  /** Without the token only how many wait is known. */
  waiting: number
  /** In whose name this page answers; empty when nobody was named. */
  approver: string
  error: string
  /** What the dialog shows; undefined while it is closed. */
  shown: WaitingRequest[] | undefined
  show(requests: WaitingRequest[]): void
  close(): void
}

type Known = Pick<Approvals, 'requests' | 'waiting' | 'approver' | 'error'>
const NOTHING: Known = { requests: [], waiting: 0, approver: '', error: '' }

const ApprovalsContext = createContext<Approvals>(null as never)
export const useApprovals = (): Approvals => useContext(ApprovalsContext)

export function ApprovalsProvider({ children }: { children: ComponentChildren }) {
  const source = useSource()
  const [known, setKnown] = useState<Known>(NOTHING)
  const [shown, setShown] = useState<WaitingRequest[]>()
  const load = async () => {
    if (source.offline) return
    const { mayChange } = source
    try {
      if (!mayChange) return setKnown({ ...NOTHING, waiting: (await source.status()).waiting })
      const { requests, approver = '' } = await source.approvals()
      setKnown({ requests, waiting: requests.length, approver, error: '' })
    } catch (error) {
      setKnown((before) => ({ ...before, error: (error as Error).message }))
      // The viewer was started anew, and its token is another one now. What somebody is answering stays.
      if (mayChange && !source.mayChange && known.requests.length === 0) await load()
    }
  }
  useWaitingInTitle(known.waiting)
  useLive((event) => {
    if (event.type === 'connected' || event.type === 'approvals') void load()
  })
  // One that expires is gone without anybody telling.
  const nextEnd = Math.min(...known.requests.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  useEffect(() => {
    if (!Number.isFinite(nextEnd)) return
    const timer = setTimeout(
      () => void load(),
      Math.min(Math.max(nextEnd - viewerNowMs() + 50, 50), 2 ** 31 - 1),
    )
    return () => clearTimeout(timer)
  }, [nextEnd])
  const value = { ...known, shown, show: setShown, close: () => setShown(undefined) }
  return <ApprovalsContext.Provider value={value}>{children}</ApprovalsContext.Provider>
}

/** In the bar, whose height is fixed: what comes moves nothing. */
export function ApprovalsButton() {
  const { requests, waiting, error, show } = useApprovals()
  useKeys({ a: () => (waiting > 0 || error) && show(requests) })
  return (
    <span class="asked" role="status">
      {waiting > 0 || error ? (
        <button type="button" class="button ask" onClick={() => show(requests)} title="Answer (a)">
          {error ? 'Approvals unreadable' : `${countAsked(waiting)} waiting for you`}
        </button>
      ) : null}
    </span>
  )
}

export function AnswerButton({ requests }: { requests: WaitingRequest[] }) {
  const { show } = useApprovals()
  return (
    <button type="button" class="button ask" onClick={() => show(requests)}>
      {requests.length > 1 ? `Answer ${countAsked(requests.length)}` : 'Answer'}
    </button>
  )
}
