/**
 * Processor time in milliseconds that this thread has spent since: what other processes do to the machine is not counted.
 * Limits over it are for work that may grow out of hand, ten times above what it takes. Speed is shown in bench/.
 */
export function cpuClock(): () => number {
  // Node 22.15 knows no more than the whole process, in which workers are processes of their own.
  const clock = process.threadCpuUsage ?? process.cpuUsage
  const before = clock()
  return () => {
    const { user, system } = clock(before)
    return (user + system) / 1_000
  }
}

/** The same of one piece of work. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const spentMs = cpuClock()
  await work()
  return spentMs()
}
