import fc from 'fast-check'
import type { HookspanError, Operation, Step } from 'hookspan'
import { expect, vi } from 'vitest'
import { checkCall, goOn, makeCall } from './calls.ts'
import { BOOM, decide } from './reference.ts'
import * as specs from './specs.ts'
import { TIMEOUT_MS } from './stands.ts'
import { type Call, nameOf, type OpenStep, openStepOf, type Run, type World } from './world.ts'

type Command = fc.AsyncCommand<World, World>

const MAX_ROOTS = 2
const MAX_DEPTH = 3

/** Something done to the world where it makes sense, after which all that has settled is compared. */
function command(text: string, can: (world: World) => boolean, run: (world: World) => unknown): Command {
  return {
    check: can,
    toString: () => text,
    run: async (_model, world) => {
      await run(world)
      await world.pacing.settle()
      compare(world)
    },
  }
}

/** After each command: whatever has settled is as it was told in advance. */
export function compare(world: World): void {
  for (const run of world.runs) {
    if (run.op.ended && run.state === 'open') {
      run.state = 'ended'
      world.disturb(run)
      run.done.resolve({ operationId: run.id, status: 'done', content: 'done' })
    }
    if (run.op.stopRequested !== undefined && !run.stopSeen) {
      run.stopSeen = true
      stopped(world, run)
    }
  }
  for (const call of world.calls) checkCall(world, call)
  if (world.violations.length > 0) throw world.violations[0]
}

/** Nothing else of the run can be told in advance any more, but the end of the one call that stopped it. */
function stopped(world: World, run: Run): void {
  const stopping = run.calls.filter(
    ({ checked, settled, expected }) =>
      !checked && settled !== undefined && expected.stop && expected.code === run.op.stopRequested?.code,
  )
  const [only] = stopping.length === 1 && !stopping[0]?.disturbed ? stopping : []
  world.disturb(run)
  if (only !== undefined) only.disturbed = false
}

const nth = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]

const openRuns = ({ runs }: World) => runs.filter(({ state }) => state === 'open')
const calmRuns = (world: World) => openRuns(world).filter((run) => world.isCalm(run) && !run.completing)
const roots = ({ runs }: World) => runs.filter(({ calledBy }) => calledBy === undefined)
const depthOf = ({ calledBy }: Run): number => (calledBy === undefined ? 1 : 1 + depthOf(calledBy.run))
/** Calls that waited when their run was parked, and have not gone on since. */
const suspended = (world: World) =>
  openRuns(world).flatMap(({ calls }) => calls.filter((call) => call.parked))

function beginStep(world: World, run: Run, spec: specs.ChainSpec, opened = false): void {
  const step: OpenStep = { spec, end: Promise.withResolvers(), step: undefined, state: 'open', calls: [] }
  step.end.promise.catch(() => {})
  run.current = step
  const calm = world.isCalm(run)
  const { op } = run
  const resumed = run.parked?.openStep?.stepIndex
  const over = () => {
    step.state = 'over'
    if (run.current === step) run.current = undefined
  }
  const turn = async (given: Step) => {
    step.step = given
    run.steps[given.stepIndex] = step
    if (resumed !== undefined) world.hold(() => expect(given.stepIndex).toBe(resumed))
    await step.end.promise
    return BOOM
  }
  const made = opened ? openedStep(world, op, turn) : op.step(turn)
  made.then(
    (value) => {
      over()
      world.hold(() => expect(value).toBe(BOOM))
    },
    (error: Error) => {
      over()
      const { code } = error as HookspanError
      const wanted =
        step.step !== undefined ? error.message === BOOM : /RUN_DENIED|OPERATION_ENDED/.test(code)
      world.hold(() => expect(wanted, `a step fails by its own failure: ${error}`).toBe(true))
      if (step.step === undefined)
        world.hold(() => expect(calm && world.isCalm(run) && run.op === op).toBe(false))
    },
  )
  // It is taken up once.
  if (run.parked?.openStep !== undefined) run.parked = { ...run.parked, openStep: undefined as never }
}

/** As adapters do, whose SDK tells of the beginning and the end apart. */
async function openedStep<T>(world: World, op: Operation, turn: (step: Step) => Promise<T>): Promise<T> {
  const step = await op.openStep()
  world.tally('step opened')
  try {
    const value = await turn(step)
    await step.end()
    return value
  } catch (error) {
    step.fail(error)
    throw error
  }
}

/** The runtime asks a human itself, and is answered when the question is released. */
async function ask(world: World, run: Run, action: 'approve' | 'reject' | 'timeout'): Promise<void> {
  const toolCallId = `question-${world.asked++}`
  const maker = openStepOf(run)?.step ?? run.op
  const question = maker.openHumanIntervention({
    pendingTools: [{ toolCallId, identifier: 'local', apiName: 'ask', args: {} }],
  })
  world.tally('question opened')
  void world.pacing.held(toolCallId).then(() =>
    world.hold(() => {
      const { isOpen } = question
      if (!isOpen) world.tally('question withdrawn')
      expect(question.answered({ action }), 'it is answered once').toBe(isOpen)
    }),
  )
}

async function endStep(world: World, run: Run, fails: boolean): Promise<void> {
  const step = openStepOf(run)
  if (step === undefined) return
  const calm = world.isCalm(run) && !run.completing && !run.calls.some(({ waiting }) => waiting)
  const { kind } = decide(world.setting, 'afterStep', step.spec, {}, new Map())
  step.state = 'ending'
  for (const call of step.calls) call.left ||= endsWithStep(call)
  for (const call of step.calls) call.disturbed ||= call.left
  if (fails) step.end.reject(new Error(BOOM))
  else step.end.resolve()
  await world.pacing.settle()
  const refused = kind === 'deny' || kind === 'reject'
  if (calm && !fails && refused && (step as OpenStep).state === 'over') {
    world.hold(() => expect(run.op.stopRequested, `${run.id} after a step that a gate refused`).toBeDefined())
  }
}

/** What was opened and has neither been run nor told ends with its step. */
function endsWithStep({ settled, ran, spec: { seam, kind } }: Call): boolean {
  if (settled !== undefined || seam === 'called') return false
  return seam === 'told' || ran === 0 || kind === 'llm'
}

function complete(world: World, run: Run): void {
  const calm = world.isCalm(run) && !run.completing
  // Said twice, it does nothing the second time.
  if (!run.completing) world.cut(run)
  run.completing = true
  const asked = { reason: 'done', content: 'the end' }
  const { kind, payload, code } = decide(world.setting, 'beforeComplete', run.spec.end, asked, new Map())
  run.op.complete({ content: asked.content }).then((result) => {
    const aborted = run.controller.signal.aborted
    if (!calm || aborted || run.interrupted || isStopped(run) || !ancestorsOpen(run)) return
    world.tally(`complete ${kind}`)
    world.hold(() => {
      if (kind === 'deny' || kind === 'reject') {
        expect(result).toMatchObject({ reason: 'denied', refusal: { code } })
        expect(result).not.toHaveProperty('content')
      } else if (kind === 'skip') expect(result).toEqual({ reason: 'done', content: payload })
      else expect(result).toMatchObject(payload as object)
    })
  })
}

const ancestorsOpen = ({ calledBy }: Run): boolean =>
  calledBy === undefined || (calledBy.run.state === 'open' && ancestorsOpen(calledBy.run))
const isStopped = ({ calledBy, op }: Run): boolean =>
  op.stopRequested !== undefined || (calledBy !== undefined && isStopped(calledBy.run))

function end(world: World, run: Run, how: 'fail' | 'interrupt'): void {
  run.interrupted = true
  world.cut(run)
  if (how === 'fail') void run.op.fail(new Error(BOOM))
  else run.op.interrupt()
}

const tree = (world: World, root: Run): Run[] => openRuns(world).filter((run) => run.root === root)
const parkable = (world: World) =>
  roots(world).filter(
    (root) =>
      root.state === 'open' &&
      !root.controller.signal.aborted &&
      tree(world, root).every(({ op, completing }) => !op.ended && !completing),
  )

async function park(world: World, root: Run, tidy: boolean): Promise<void> {
  if (tidy) {
    for (const run of tree(world, root)) await endStep(world, run, false)
    await world.pacing.settle()
    compare(world)
    if (!parkable(world).includes(root)) return
  }
  // Whose caller has ended would be left behind in this process.
  for (const run of tree(world, root)) if (!ancestorsOpen(run)) end(world, run, 'interrupt')
  compare(world)
  world.tally('parks')
  await world.park(root)
}

function resume(world: World, root: Run, elsewhere: boolean): void {
  world.tally('resumes')
  world.resume(root, elsewhere ? world.addDispatcher() : root.dispatcher)
}

async function takeUp(world: World, call: Call): Promise<void> {
  const { run } = call
  if (run.parked?.openStep !== undefined && run.current === undefined) {
    beginStep(world, run, run.steps[run.parked.openStep.stepIndex]?.spec ?? specs.QUIET)
    await world.pacing.settle()
  }
  goOn(world, call)
}

/** What a call was told to do, as far as it is not the usual. */
function describe(spec: specs.CallSpec): string {
  const { kind, ...rest } = spec
  const parts = Object.entries(rest).map(([name, value]) => {
    if (typeof value !== 'object') return `${name} ${value}`
    const said = Object.entries(value.gates).flatMap(([id, { kind: does, pace }]) =>
      does === 'proceeds' && pace === 'at once' ? [] : [`${id} ${does} ${pace}`],
    )
    return said.length === 0 ? '' : `${name}: ${said}, human ${Object.values(value.human).join(' ')}`
  })
  return [kind, ...parts.filter((part) => part !== '')].join(', ')
}

/** What is to be tried more often than the rest. */
function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_none, index) => make(index))
}

export const commands = [
  specs.run.map((spec) =>
    command(
      'a run starts',
      (world) => roots(world).filter(({ state }) => state !== 'ended').length < MAX_ROOTS,
      (world) => world.start(spec),
    ),
  ),
  ...times(7, (index) =>
    fc.tuple(fc.nat(9), specs.call, specs.run).map(([nthRun, spec, child]) => {
      // One in seven may also come after the end.
      const target = (world: World) => nth(index === 0 ? world.runs : openRuns(world), nthRun)
      return command(
        `run ${nthRun}: ${describe(spec)}`,
        (world) => fits(target(world), spec),
        (world) => makeCall(world, target(world) as Run, spec, child),
      )
    }),
  ),
  fc.tuple(fc.nat(9), specs.chain, fc.boolean()).map(([index, spec, opened]) =>
    command(
      `run ${index}: a step ${opened ? 'is opened' : 'begins'}`,
      (world) => nth(openRuns(world), index)?.current === undefined && openRuns(world).length > 0,
      (world) => beginStep(world, nth(openRuns(world), index) as Run, spec, opened),
    ),
  ),
  fc.tuple(fc.nat(9), fc.constantFrom('approve', 'reject', 'timeout')).map(([index, action]) =>
    command(
      `run ${index}: asks a human itself, who says ${action}`,
      (world) => calmRuns(world).length > 0,
      (world) => ask(world, nth(calmRuns(world), index) as Run, action),
    ),
  ),
  fc.tuple(fc.nat(9), fc.constantFrom(false, false, true)).map(([index, fails]) =>
    command(
      `run ${index}: its step ${fails ? 'fails' : 'ends'}`,
      (world) => openRuns(world).some((run) => openStepOf(run) !== undefined),
      (world) => endStep(world, nth(openRuns(world).filter(openStepOf), index) as Run, fails),
    ),
  ),
  ...times(3, () =>
    fc.nat(9).map((index) =>
      command(
        `what waits at ${index} is released`,
        (world) => world.pacing.waiting > 0,
        (world) => world.pacing.release(index),
      ),
    ),
  ),
  fc.constant(command('time passes', (world) => world.runs.length > 0, passTime)),
  fc
    .tuple(fc.nat(9), fc.constantFrom('complete', 'complete', 'complete', 'fail', 'interrupt', 'abort'))
    .map(([index, how]) =>
      command(
        `run ${index}: ${how}`,
        (world) => openRuns(world).length > 0,
        (world) => {
          const run = nth(openRuns(world), index) as Run
          world.tally(how)
          if (how === 'complete') complete(world, run)
          else if (how === 'abort') abort(world, run.root)
          else end(world, run, how as 'fail')
        },
      ),
    ),
  fc.tuple(fc.nat(1), fc.boolean()).map(([index, tidy]) =>
    command(
      `root ${index} is parked${tidy ? ' after its step' : ''}`,
      (world) => parkable(world).length > 0,
      (world) => park(world, nth(parkable(world), index) as Run, tidy),
    ),
  ),
  fc.boolean().map((elsewhere) =>
    command(
      `a parked run is resumed ${elsewhere ? 'elsewhere' : 'here'}`,
      (world) => roots(world).some(({ state }) => state === 'parked'),
      (world) => resume(world, roots(world).find(({ state }) => state === 'parked') as Run, elsewhere),
    ),
  ),
  ...times(2, () =>
    fc.nat(9).map((index) =>
      command(
        `the call that waited at ${index} goes on`,
        (world) => suspended(world).length > 0,
        (world) => takeUp(world, nth(suspended(world), index) as Call),
      ),
    ),
  ),
]

/** Sub-agents of sub-agents, but not without end. */
function fits(run: Run | undefined, { kind }: specs.CallSpec): boolean {
  return run !== undefined && (kind !== 'agent' || depthOf(run) < MAX_DEPTH)
}

/** Gates and humans that are only slow answer in time; what hangs does not. */
async function passTime(world: World): Promise<void> {
  while (world.pacing.releaseAll(/^gate|^human/)) await world.pacing.settle()
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
}

function abort(world: World, root: Run): void {
  world.disturb(root)
  root.controller.abort(new Error('aborted'))
}

const isParked = ({ state }: Run) => state === 'parked'
const goesOn = ({ op }: Run) => op.stopRequested === undefined

async function goOnOrEnd(world: World): Promise<void> {
  const parked = roots(world).find(isParked)
  const waiting = suspended(world).find(({ run }) => goesOn(run))
  const [open] = openRuns(world).sort((a, b) => depthOf(b) - depthOf(a))
  if (parked !== undefined) resume(world, parked, false)
  else if (waiting !== undefined) await takeUp(world, waiting)
  else if (open === undefined) return
  else if (waitsAnew(open) && goesOn(open.root) && parkable(world).includes(open.root)) {
    await park(world, open.root, true)
  } else if (openStepOf(open) !== undefined) await endStep(world, open, false)
  else complete(world, open)
}

/** What waits since the run was resumed last goes on after the next time only. */
const waitsAnew = ({ calls, op }: Run) =>
  op.stopRequested === undefined && calls.some(({ waiting, parked }) => waiting && !parked)

const isStill = ({ calls, dispatchers }: World) =>
  calls.every(({ settled }) => settled !== undefined) &&
  dispatchers.every((dispatcher) => dispatcher.stats().pending === 0)

/** Lets everything end: what is held goes on, what is parked is resumed, what waits goes on, what is open completes. */
export async function finish(world: World): Promise<void> {
  for (let round = 0; round < 100; round++) {
    while (world.pacing.waiting > 0) {
      world.pacing.release(0)
      await world.pacing.settle()
      compare(world)
    }
    await passTime(world)
    await world.pacing.settle()
    compare(world)
    if (world.pacing.waiting > 0) continue
    if (openRuns(world).length === 0 && !roots(world).some(isParked) && isStill(world)) return
    await goOnOrEnd(world)
    await world.pacing.settle()
    compare(world)
  }
  const open = [...openRuns(world).map(({ id }) => id), ...suspended(world).map(nameOf)]
  const calls = world.calls.filter(({ settled }) => settled === undefined).map(nameOf)
  const pending = world.dispatchers.map((dispatcher) => dispatcher.stats().pending)
  throw new Error(`Not everything ended: ${open}; ${calls}; ${pending}`)
}
