/** The one dialog in which what agents ask is answered. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { countAsked, type WaitingRequest } from '../../src/viewer/model/approval.ts'
import { ApprovalCard } from './approval-card.tsx'
import { useApprovals } from './approvals.tsx'
import { Settled, useSettled } from './guarded-button.tsx'
import { useNowUs, useSource } from './hooks.ts'
import { Button, Empty } from './parts.tsx'
import { useRoute } from './route.ts'

export function ApprovalsDialog() {
  const { shown } = useApprovals()
  return shown ? <OpenDialog shown={shown} /> : null
}

/** Cards that are drawn at once, and asked for what led to them: hundreds held the page for half a minute. */
const AT_ONCE = 20

/** Shows what it was opened with until it is closed, so that nothing is swapped under the hand that answers. */
function OpenDialog({ shown }: { shown: WaitingRequest[] }) {
  const source = useSource()
  const { requests, approver, error, close, show } = useApprovals()
  const dialog = useRef<HTMLDialogElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const settled = useSettled(content)
  const nowUs = useNowUs(true, 1000)
  useEffect(() => {
    dialog.current?.showModal()
    // Where reading begins, and from where Approve is one Tab away; never on Approve itself.
    dialog.current?.querySelector<HTMLElement>('.exact')?.focus()
  }, [])
  // Who follows a link, or goes back, is to see what is there.
  useRoute()
  const { pathname } = location
  const [opened] = useState(pathname)
  useEffect(() => {
    if (pathname !== opened) close()
  }, [pathname])
  const [count, setCount] = useState(AT_ONCE)
  const here = shown.slice(0, count)
  const areOpen = new Set(requests.map(({ id }) => id))
  const areShown = new Set(shown.map(({ id }) => id))
  const more = [
    ...shown.slice(count).filter(({ id }) => areOpen.has(id)),
    ...requests.filter(({ id }) => !areShown.has(id)),
  ]
  const next = Math.min(more.length, AT_ONCE)
  const showNext = () => {
    show([...here, ...more])
    setCount(here.length + next)
  }
  return (
    <dialog
      ref={dialog}
      class="help approvals"
      aria-label="Approvals"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div ref={content}>
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
        <Settled.Provider value={settled}>
          {here.map((request, index) => (
            <ApprovalCard
              key={request.id}
              request={request}
              approver={approver}
              nowMs={nowUs / 1000}
              which={here.length > 1 ? `, ${index + 1} of ${here.length}` : ''}
              open={error !== '' || areOpen.has(request.id)}
            />
          ))}
        </Settled.Provider>
        {more.length > 0 && (
          <Button onClick={showNext}>
            {`Show ${next < more.length ? `${next} of ` : ''}${countAsked(more.length)} more ${more.length === 1 ? 'request' : 'requests'}`}
          </Button>
        )}
      </div>
    </dialog>
  )
}
