/** Answering what agents ask people: told in the bar, in the list of runs and in the run; done in one dialog. */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { ApprovalOutcome, ApprovalReply, WaitingRequest } from '../../src/viewer/model/approval.ts'
import { formatDuration } from '../../src/viewer/model/format.ts'
import type { AttributeValue } from '../../src/viewer/model/span.ts'
import { useKeys, useLive, useNowUs, useSource } from './hooks.ts'
import { Button, Empty, Text, Value } from './parts.tsx'
import { pathOf } from './route.ts'

interface Approvals {
  requests: WaitingRequest[]
  /** Without the token only how many wait is known. */
  waiting: number
  error: string
  /** What the dialog shows; undefined while it is closed. */
  shown: WaitingRequest[] | undefined
  show(requests: WaitingRequest[]): void
  close(): void
}

const ApprovalsContext = createContext<Approvals>(null as never)
export const useApprovals = (): Approvals => useContext(ApprovalsContext)

export function ApprovalsProvider({ children }: { children: ComponentChildren }) {
  const source = useSource()
  const [known, setKnown] = useState<{ requests: WaitingRequest[]; waiting: number; error: string }>({
    requests: [],
    waiting: 0,
    error: '',
  })
  const [shown, setShown] = useState<WaitingRequest[]>()
  const load = async () => {
    if (source.offline) return
    try {
      if (!source.mayChange)
        return setKnown({ requests: [], waiting: (await source.status()).waiting, error: '' })
      const requests = await source.approvals()
      setKnown({ requests, waiting: requests.length, error: '' })
    } catch (error) {
      setKnown((before) => ({ ...before, error: (error as Error).message }))
    }
  }
  useLive((event) => {
    if (event.type === 'connected' || event.type === 'approvals') void load()
  })
  // One that expires is gone without anybody telling.
  const nextEnd = Math.min(...known.requests.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  useEffect(() => {
    if (!Number.isFinite(nextEnd)) return
    const timer = setTimeout(
      () => void load(),
      Math.min(Math.max(nextEnd - Date.now() + 50, 50), 2 ** 31 - 1),
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
          {error ? 'Approvals unreadable' : `${waiting} waiting for you`}
        </button>
      ) : null}
    </span>
  )
}

export function AnswerButton({ requests }: { requests: WaitingRequest[] }) {
  const { show } = useApprovals()
  return (
    <button type="button" class="button ask" onClick={() => show(requests)}>
      {requests.length > 1 ? `Answer ${requests.length}` : 'Answer'}
    </button>
  )
}

export function ApprovalsDialog() {
  const { shown } = useApprovals()
  return shown ? <OpenDialog shown={shown} /> : null
}

/** Shows what it was opened with until it is closed, so that nothing is swapped under the hand that answers. */
function OpenDialog({ shown }: { shown: WaitingRequest[] }) {
  const source = useSource()
  const { requests, error, close } = useApprovals()
  const dialog = useRef<HTMLDialogElement>(null)
  const nowUs = useNowUs(true, 1000)
  useEffect(() => dialog.current?.showModal(), [])
  const more = requests.filter(({ id }) => !shown.some((one) => one.id === id))
  const { show } = useApprovals()
  return (
    <dialog
      ref={dialog}
      class="help approvals"
      aria-label="Approvals"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <header>
        <h2>Waiting for you</h2>
        <Button icon="close" title="Close" onClick={close} />
      </header>
      {error && (
        <p class="notice error" role="alert">
          {error}
        </p>
      )}
      {!source.mayChange && (
        <Empty title="This needs the token">
          <p>Open the link that `hookspan view` printed, once in this tab.</p>
        </Empty>
      )}
      {shown.map((request) => (
        <Card
          key={request.id}
          request={request}
          nowMs={nowUs / 1000}
          open={error !== '' || requests.some(({ id }) => id === request.id)}
        />
      ))}
      {more.length > 0 && (
        <Button onClick={() => show([...shown, ...more])}>
          {`Show ${more.length} more ${more.length === 1 ? 'request' : 'requests'}`}
        </Button>
      )}
    </dialog>
  )
}

function Card({ request, nowMs, open }: { request: WaitingRequest; nowMs: number; open: boolean }) {
  const source = useSource()
  const [outcome, setOutcome] = useState<ApprovalOutcome>()
  const [mine, setMine] = useState(false)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const [edited, setEdited] = useState<string>()
  const [reason, setReason] = useState('')
  const end = useRef<HTMLParagraphElement>(null)
  const { id, argsDigest, allow } = request
  const find = () =>
    source.outcome(id).then(
      (found) => found.status !== 'pending' && setOutcome(found),
      (error: Error) => setProblem(error.message),
    )
  // Somebody else was first, or its time was over.
  useEffect(() => {
    if (!open && !outcome && !busy) void find()
  }, [open, outcome, busy])
  // The buttons are gone, and the focus with them.
  useEffect(() => {
    if (mine && outcome) end.current?.focus()
  }, [mine, outcome])
  const send = async (reply: Omit<ApprovalReply, 'argsDigest' | 'reason'>) => {
    setBusy(true)
    setProblem('')
    try {
      const given = reason.trim()
      setOutcome(await source.respond(id, { ...reply, argsDigest, ...(given && { reason: given }) }))
      setMine(true)
    } catch (error) {
      setProblem((error as Error).message)
      await find()
    } finally {
      setBusy(false)
    }
  }
  const sendEdited = () => {
    let args: unknown
    try {
      args = JSON.parse(edited ?? '')
    } catch (error) {
      setProblem(`The arguments are not JSON: ${(error as Error).message}`)
      return
    }
    void send({ decision: 'edit', args })
  }
  const field = (name: string) => `${name}-${argsDigest.slice(0, 8)}-${id}`
  return (
    <article class="request" aria-label={`Request for ${request.apiName}`}>
      <h3>
        <Text>{request.apiName}</Text>
      </h3>
      <p class="hint">
        {request.agentName ? <Text>{`${request.agentName} asked `}</Text> : 'Asked '}
        {formatDuration(Math.max(0, nowMs - request.requestedAt))} ago
        {!outcome && request.expiresAt !== undefined
          ? `, refused in ${formatDuration(Math.max(0, request.expiresAt - nowMs))} unless answered`
          : ''}
        {' · '}
        <a href={pathOf({ page: 'run', traceId: request.traceId, view: 'timeline', spanId: '' })}>Run</a>
      </p>
      {request.instructions && (
        <p class="prose">
          <Text>{request.instructions}</Text>
        </p>
      )}
      {request.approvers && request.approvers.length > 0 && (
        <p class="hint">
          May be answered by <Text>{request.approvers.join(', ')}</Text>
        </p>
      )}
      {edited === undefined || outcome ? (
        <Value value={request.args as AttributeValue} />
      ) : (
        <label class="field">
          Arguments, as JSON
          <textarea
            id={field('args')}
            rows={Math.min(16, edited.split('\n').length + 1)}
            value={edited}
            onInput={(event) => setEdited(event.currentTarget.value)}
            spellcheck={false}
          />
        </label>
      )}
      {problem && (
        <p class="notice error" role="alert">
          <Text>{problem}</Text>
        </p>
      )}
      {outcome ? (
        <p class={`outcome ${mine ? 'mine' : ''}`} role="status" tabIndex={-1} ref={end}>
          <Text>{wordsFor(outcome, mine)}</Text>
        </p>
      ) : (
        <>
          <label class="field">
            Reason, told to the model when rejected
            <input
              type="text"
              id={field('reason')}
              value={reason}
              maxLength={4000}
              onInput={(event) => setReason(event.currentTarget.value)}
              autocomplete="off"
            />
          </label>
          <div class="answers">
            {edited === undefined ? (
              <>
                {allow.includes('approve') && (
                  <Button kind="primary" disabled={busy} onClick={() => void send({ decision: 'approve' })}>
                    Approve
                  </Button>
                )}
                {allow.includes('edit') && (
                  <Button
                    disabled={busy}
                    onClick={() => setEdited(JSON.stringify(request.args, null, 2) ?? 'null')}
                  >
                    Edit arguments
                  </Button>
                )}
              </>
            ) : (
              <>
                <Button kind="primary" disabled={busy} onClick={sendEdited}>
                  Approve edited
                </Button>
                <Button disabled={busy} onClick={() => setEdited(undefined)}>
                  Keep as asked
                </Button>
              </>
            )}
            {allow.includes('reject') && (
              <Button kind="bad" disabled={busy} onClick={() => void send({ decision: 'reject' })}>
                Reject
              </Button>
            )}
          </div>
        </>
      )}
    </article>
  )
}

const DECIDED: Record<string, string> = {
  approve: 'Approved',
  edit: 'Approved with other arguments',
  reject: 'Rejected',
}

function wordsFor({ status, answer }: ApprovalOutcome, mine: boolean): string {
  if (status === 'expired') return 'Nobody answered in time: the call was refused.'
  if (status === 'cancelled') return 'No longer asked: the run has ended.'
  const what = DECIDED[answer?.decision ?? ''] ?? 'Answered'
  if (mine) return `${what}. The run goes on.`
  return `${what} already${answer?.approver ? ` by ${answer.approver}` : ''}${answer?.reason ? `: ${answer.reason}` : '.'}`
}
