/** One request: what would run, for whom, and the answer. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ApprovalOutcome, ApprovalReply, WaitingRequest } from '../../src/viewer/model/approval.ts'
import { editableJson } from '../../src/viewer/model/exact-json.ts'
import { useDraft } from './approval-draft.ts'
import { ApprovalQuestion } from './approval-question.tsx'
import { editedArguments } from './edited-arguments.ts'
import { ExactChange, ExactValue } from './exact-value.tsx'
import { GuardedButton } from './guarded-button.tsx'
import { useSource } from './hooks.ts'
import { Button, Text } from './parts.tsx'

interface Props {
  request: WaitingRequest
  /** In whose name is answered; empty when nobody was named. */
  approver: string
  nowMs: number
  open: boolean
  /** What tells it from the others that are shown, behind the names of its parts; empty where it is alone. */
  which: string
}

export function ApprovalCard({ request, approver, nowMs, open, which }: Props) {
  const source = useSource()
  const { id, argsDigest } = request
  const [outcome, setOutcome] = useState<ApprovalOutcome>()
  const [mine, setMine] = useState(false)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const [{ edited, reason }, change, forget] = useDraft(id)
  const card = useRef<HTMLElement>(null)
  const end = useRef<HTMLParagraphElement>(null)
  // What is over stays as tall as it was: the requests below it must not slide under a hand that is about to answer one.
  const [height, setHeight] = useState(0)
  const hadFocus = useRef(false)
  const finish = (found: ApprovalOutcome) => {
    setHeight(card.current?.getBoundingClientRect().height ?? 0)
    hadFocus.current = card.current?.contains(document.activeElement) ?? false
    setOutcome(found)
  }
  const [seen, setSeen] = useState(edited !== undefined)
  const find = () =>
    source.outcome(id).then(
      (found) => {
        if (found.status === 'pending') return
        // What came of it says it better.
        setProblem('')
        finish(found)
      },
      (error: Error) => setProblem(error.message),
    )
  // Somebody else was first, or its time was over.
  useEffect(() => {
    if (!open && !outcome && !busy) void find()
  }, [open, outcome, busy])
  // The buttons are gone, and the focus with them.
  useEffect(() => {
    const isLost = hadFocus.current && !card.current?.contains(document.activeElement)
    if (outcome && (mine || isLost)) end.current?.focus({ preventScroll: true })
  }, [mine, outcome])
  // As the button that was pressed is, where one turns to an edit or back.
  const turned = useRef(false)
  const turn = (text: string | undefined) => {
    turned.current = true
    change({ edited: text })
  }
  useEffect(() => {
    if (turned.current) card.current?.querySelector<HTMLElement>('textarea, .exact')?.focus()
    turned.current = false
  }, [edited === undefined])
  const send = async (reply: Omit<ApprovalReply, 'argsDigest' | 'reason'>) => {
    setBusy(true)
    setProblem('')
    try {
      const given = reason.trim()
      finish(await source.respond(id, { ...reply, argsDigest, ...(given && { reason: given }) }))
      setMine(true)
      forget()
    } catch (error) {
      setProblem((error as Error).message)
      await find()
    } finally {
      setBusy(false)
    }
  }
  const sendEdited = () => {
    try {
      void send({ decision: 'edit', args: editedArguments(edited ?? '') })
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  const unsent = outcome && !mine && (edited !== undefined || reason !== '')
  return (
    <article
      ref={card}
      class="request"
      style={height > 0 ? { minHeight: `${height}px` } : undefined}
      aria-label={`Request for ${request.apiName}`}
    >
      <ApprovalQuestion request={request} nowMs={nowMs} isOpen={!outcome} />
      {edited === undefined || (mine && outcome?.answer?.decision !== 'edit') ? (
        <ExactValue value={request.args} label={`Arguments${which}`} onSeen={() => setSeen(true)} />
      ) : (
        <Edit
          id={id}
          request={request}
          which={which}
          text={edited}
          isOver={outcome !== undefined}
          onText={(text) => {
            change({ edited: text })
            setProblem('')
          }}
        />
      )}
      {problem && (
        <p class="notice error" role="alert">
          <Text>{problem}</Text>
        </p>
      )}
      {outcome ? (
        <p class={`outcome ${mine ? 'mine' : ''}`} role="status" tabIndex={-1} ref={end}>
          <Text>{wordsFor(outcome, mine)}</Text>
          {unsent && (
            <span class="hint"> What you wrote was not sent{reason && <Text>{`: ${reason}`}</Text>}.</span>
          )}
        </p>
      ) : (
        <>
          <Answers
            request={request}
            approver={approver}
            busy={busy}
            seen={seen}
            isEditing={edited !== undefined}
            onApprove={() => void send({ decision: 'approve' })}
            onApproveEdited={sendEdited}
            onEdit={() => turn(editableJson(request.args))}
            onKeep={() => turn(undefined)}
          />
          {request.allow.includes('reject') && (
            <Reject
              id={id}
              busy={busy}
              reason={reason}
              onReason={(text) => change({ reason: text })}
              onReject={() => void send({ decision: 'reject' })}
            />
          )}
        </>
      )}
    </article>
  )
}

function Edit({
  id,
  request,
  which,
  text,
  isOver,
  onText,
}: {
  id: string
  request: WaitingRequest
  which: string
  text: string
  /** Then it can still be read, and copied. */
  isOver: boolean
  onText: (text: string) => void
}) {
  const after = useMemo(() => {
    try {
      return { args: editedArguments(text) }
    } catch {
      return undefined
    }
  }, [text])
  return (
    <>
      <label class="field">
        Arguments, as JSON
        <textarea
          id={`args-${id}`}
          rows={Math.min(16, text.split('\n').length + 1)}
          value={text}
          readOnly={isOver}
          onInput={(event) => onText(event.currentTarget.value)}
          spellcheck={false}
        />
      </label>
      {after && <ExactChange before={request.args} after={after.args} label={`What you change${which}`} />}
    </>
  )
}

function Answers({
  request: { id, allow, approvers },
  approver,
  busy,
  seen,
  isEditing,
  ...on
}: {
  request: WaitingRequest
  approver: string
  busy: boolean
  seen: boolean
  isEditing: boolean
  onApprove: () => void
  onApproveEdited: () => void
  onEdit: () => void
  onKeep: () => void
}) {
  const why = `why-${id}`
  const guard = { ready: seen, busy, describedBy: why }
  return (
    <>
      <div class="answers">
        {isEditing ? (
          <>
            <GuardedButton key="edited" kind="primary" {...guard} onClick={on.onApproveEdited}>
              Approve edited
            </GuardedButton>
            <Button disabled={busy} onClick={on.onKeep}>
              Keep as asked
            </Button>
          </>
        ) : (
          <>
            {allow.includes('approve') && (
              <GuardedButton key="asked" kind="primary" {...guard} onClick={on.onApprove}>
                Approve
              </GuardedButton>
            )}
            {allow.includes('edit') && (
              <GuardedButton key="edit" {...guard} onClick={on.onEdit}>
                Edit arguments
              </GuardedButton>
            )}
          </>
        )}
      </div>
      <p class="hint why" id={why}>
        {seen ? '' : 'Read the arguments to their end first. '}
        {approver ? (
          <>
            You answer as{' '}
            <strong>
              <Text>{approver}</Text>
            </strong>
            .
          </>
        ) : (
          'You answer without a name.'
        )}
        {approvers && approvers.length > 0 && (
          <>
            {' '}
            May be answered by <Text>{approvers.join(', ')}</Text>.
          </>
        )}
      </p>
    </>
  )
}

function Reject({
  id,
  busy,
  reason,
  onReason,
  onReject,
}: {
  id: string
  busy: boolean
  reason: string
  onReason: (reason: string) => void
  onReject: () => void
}) {
  return (
    <div class="reject">
      <label class="field">
        Reason, told to the model when rejected
        <input
          type="text"
          id={`reason-${id}`}
          value={reason}
          maxLength={4000}
          onInput={(event) => onReason(event.currentTarget.value)}
          autocomplete="off"
        />
      </label>
      <GuardedButton kind="bad" ready busy={busy} describedBy={`why-${id}`} onClick={onReject}>
        Reject
      </GuardedButton>
    </div>
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
