/** How a command may say something, as a line of a shell. */
import type { Way } from './way.ts'

/** Says it. */
const SAY = 'cat "$BEFORE"; [ -z "$ECHO" ] || cat; cat "$AFTER"'
const ERROR = ['gate_error']
const LATE = ['gate_timeout']
/** Longer than any test: what is left of it shows. */
const LONG = 'sleep 3600'

export const COMMANDS: Readonly<Record<string, Way & { readonly script: string }>> = {
  plainly: { script: SAY },
  'before it is asked': { script: `exec <&-; ${SAY}`, unasked: true },
  'with complaints': { script: `echo '{"decision":"proceed"}' >&2; ${SAY}` },
  'in pieces': { script: 'cat "$BEFORE"; sleep 0.02; [ -z "$ECHO" ] || cat; sleep 0.02; cat "$AFTER"' },
  'to standard error': { script: `{ ${SAY}; } >&2`, fails: ['gate_invalid'] },
  twice: { script: `${SAY}; ${SAY}`, fails: ['gate_invalid'], unless: 'nothing' },
  'and fails': { script: `${SAY}; exit 1`, fails: ERROR },
  'and denies as hooks of others do': { script: `${SAY}; exit 2`, fails: ERROR },
  'and is not found': { script: `${SAY}; exec /no/such/program`, fails: ERROR },
  'and is killed': { script: `${SAY}; kill -KILL $$`, fails: ERROR },
  'and breaks': { script: `${SAY}; kill -SEGV $$`, fails: ERROR },
  'and stands still': { script: `${SAY}; kill -STOP $$`, fails: LATE },
  'and stays': { script: `${SAY}; ${LONG}`, fails: LATE },
  'and stays, deaf': { script: `trap '' TERM INT HUP; ${SAY}; ${LONG}`, fails: LATE },
  'and stays, with everything closed': { script: `${SAY}; exec <&- >&- 2>&-; ${LONG}`, fails: LATE },
  'too late': { script: `sleep 3600; ${SAY}`, fails: LATE },
  'and leaves a child that could go on': { script: `{ ${LONG}; cat "$BEFORE"; } & ${SAY}` },
  'and leaves many children': { script: `for n in 1 2 3; do ${LONG} & done; ${SAY}` },
  // Unless it is killed on its way out.
  'and leaves one that has left': { script: `setsid sleep 1 & ${SAY}`, fails: LATE, perhaps: true },
  'and floods': { script: `${SAY}; cat /dev/zero`, fails: ERROR },
  'and floods its complaints': { script: `${SAY}; head -c 3000000 /dev/zero >&2` },
}
