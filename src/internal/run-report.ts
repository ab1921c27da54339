/** What the processes of `hookspan run` write down for it: names of packages, one in a line. */
export const RUN_REPORT = 'HOOKSPAN_RUN_REPORT'

/** Written by each process that preloads us, before all else. */
export const LOADED = 'loaded'

/** Written by a process that its config keeps from starting, which says why itself. */
export const REFUSED = 'refused'

/** Written in place of a package: no span of a process can be sent. */
export const UNTRACED = 'untraced'

/** Written at the end of a process whose spans were all refused, or met nobody. */
export const UNTAKEN = 'untaken'

/** A process has a `hookspan.config.*` to hold to. */
export const GUARDED = 'guarded'

/** A run was seen, or the program's own dispatcher has it: what is attached is not merely loaded. */
export const RUN_SEEN = 'run seen'

/** Written by `hookspan run` itself: what it was to show runs in could not be started. */
export const NO_VIEWER = 'no viewer'

/** Written for a worker thread at its first run, by its process and number, and again once it ends by itself. */
export const WORKER_RAN = 'worker ran '
export const WORKER_ENDED = 'worker ended '

/** Written by a process to which a signal came: which one, to whom and when, with spaces between. */
export const HEARD = 'heard '

/** What `hookspan run` passes on. */
export const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'] as const

/** The process id of `hookspan run`, for a program in a terminal, which it is to stop with. */
export const RUN_PID = 'HOOKSPAN_RUN_PID'
