import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Span } from '@opentelemetry/api'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type FaultyDisk, faultyDisk } from '../../../../test/support/faulty-disk.ts'
import { type Parcel, spanOf } from '../parcel.ts'
import { Leftovers } from './leftovers.ts'
import { readRecords } from './read-records.ts'
import { FRAME_BYTES, putFrame, type RecordKind } from './records.ts'
import { SetAside } from './set-aside.ts'
import { Spool } from './spool.ts'

/** With files of 16 KiB. */
const LIMIT = 128 * 1024
const tracer = new TracerProvider().getTracer('test')

const startSpan = (name: string) => tracer.startSpan(name) as Span & ReadableSpan

interface Told {
  readonly name: string
  readonly isInterrupted: boolean
}

function told(parcel: Parcel): Told {
  const { name, attributes } = spanOf(parcel)
  return { name, isInterrupted: 'hookspan.span.state' in attributes }
}

describe('a spool', () => {
  let folder: string
  let disk: FaultyDisk
  let spool: Spool
  let troubles: string[]
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    folder = mkdtempSync(join(tmpdir(), 'hookspan-spool-'))
    disk = faultyDisk(folder)
    troubles = []
    spool = new Spool({
      folder,
      maxBytes: LIMIT,
      setAside: new SetAside(folder),
      onTrouble: (message) => troubles.push(message),
      otherBytes: () => 0,
      dropLeftover: () => undefined,
    })
  })
  afterEach(() => {
    vi.useRealTimers()
    disk.fault = () => undefined
    spool.close()
    disk[Symbol.dispose]()
    rmSync(folder, { recursive: true })
  })

  /** So long that the disk is asked again. */
  const passPause = () => vi.advanceTimersByTime(60_000)

  function start(name: string): Span & ReadableSpan {
    const span = startSpan(name)
    spool.started(span)
    return span
  }

  function end(span: Span & ReadableSpan): Parcel {
    span.end()
    return spool.ended(span)
  }

  /** What another process would tell if this one died now. */
  function ifItDied(setAside?: string[]): Told[] {
    const copy = mkdtempSync(join(tmpdir(), 'hookspan-copy-'))
    cpSync(folder, copy, { recursive: true })
    const leftovers = new Leftovers({
      folder: copy,
      setAside: Object.assign(new SetAside(copy), {
        addUnreadable: (bytes: Buffer) => setAside?.push(bytes.toString('latin1')),
      }),
      onTrouble: (message) => troubles.push(message),
    })
    leftovers.look(undefined)
    const parcels = leftovers.next({ spans: 100_000, chars: Number.POSITIVE_INFINITY })
    leftovers.close()
    rmSync(copy, { recursive: true })
    return parcels.map(told)
  }

  const segments = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.spans'))
      .map((name) => join(folder, name))

  const recordsOnDisk = () => segments().flatMap((path) => [...readRecords(path)])

  it.each(['ENOSPC', 'EIO', 'half'] as const)(
    'gives the span that ended, not the open ones that are told of when writes fail no longer (%s)',
    (fault) => {
      const before = start('open before')
      disk.fault = (call) => (call === 'writeSync' ? fault : undefined)
      const meanwhile = start('open meanwhile')
      const ended = start('ended')
      disk.fault = () => undefined
      passPause()
      const parcel = end(ended)
      expect(told(parcel)).toEqual({ name: 'ended', isInterrupted: false })
      expect(ifItDied()).toEqual([
        { name: 'ended', isInterrupted: false },
        { name: 'open before', isInterrupted: true },
        { name: 'open meanwhile', isInterrupted: true },
      ])
      expect([before, meanwhile].map((span) => told(end(span)).name)).toEqual([
        'open before',
        'open meanwhile',
      ])
      expect(troubles).toEqual([expect.stringMatching(/cannot be written to `spoolDir`/)])
    },
  )

  it('gives the span that ended when its end reaches the limit, and open ones are told of anew', () => {
    const open = Array.from({ length: 20 }, (_, i) => start(`open ${i}`))
    const spans = Array.from({ length: 1_200 }, (_, i) => start(`ended ${i}`))
    for (const span of spans) {
      const parcel = end(span)
      expect(told(parcel).name).toBe(span.name)
      expect(spool.has(parcel)).toBe(true)
      spool.leave([parcel])
    }
    expect(spool.dropped).toBeGreaterThan(50)
    const there = ifItDied()
    expect(there.filter(({ isInterrupted }) => isInterrupted).map(({ name }) => name)).toEqual(
      open.map(({ name }) => name),
    )
    expect(there.filter(({ isInterrupted }) => !isInterrupted).length + spool.dropped).toBe(1_200)
  })

  it('has no more open spans on disk than there are, however much they are told anew', () => {
    // They alone are more than a file: each time the oldest file goes, they fill others.
    for (let i = 0; i < 120; i++) start(`open ${i}`)
    for (let i = 0; i < 600; i++) spool.leave([end(start(`ended ${i}`))])
    const there = ifItDied()
    expect(there.filter(({ isInterrupted }) => isInterrupted)).toHaveLength(120)
    expect(there.filter(({ isInterrupted }) => !isInterrupted).length + spool.dropped).toBe(600)
    expect(spool.unreadCount + spool.dropped).toBe(600)
  })

  it('counts what was past the limit before it was let go of', () => {
    const parcels: Parcel[] = []
    do parcels.push(end(start('ended')))
    while (spool.has(parcels[0] as Parcel))
    const gone = parcels.filter((parcel) => !spool.has(parcel)).length
    spool.leave(parcels)
    expect([spool.dropped, spool.unreadCount]).toEqual([gone, parcels.length - gone])
  })

  it('keeps no half record of a write that came short', () => {
    disk.fault = (call) => (call === 'writeSync' ? 'half' : undefined)
    expect(end(start('a')).place).toBeUndefined()
    disk.fault = () => undefined
    passPause()
    const place = end(start('b')).place
    expect(recordsOnDisk().map(({ kind }) => kind)).toEqual(['h', 's', 'e'])
    expect(place?.end).toBe(statSync(segments()[0] as string).size)
  })

  it('goes on in another file when a half record cannot be taken back', () => {
    const kept = end(start('kept'))
    disk.fault = (call) => (call === 'writeSync' ? 'half' : call === 'ftruncateSync' ? 'EIO' : undefined)
    const lost = end(start('lost'))
    disk.fault = () => undefined
    passPause()
    const next = end(start('next'))
    expect([kept, lost, next].map(({ place }) => place?.segment)).toEqual([1, undefined, 2])
    expect(ifItDied().map(({ name }) => name)).toEqual(['kept', 'next'])
  })

  it('tells that spans were handed over, however often the disk fails again', () => {
    const spans = [start('a'), start('b'), start('c')]
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    for (const span of spans) spool.handedOver(span)
    let writes = 0
    disk.fault = (call) => (call === 'writeSync' && ++writes > 1 ? 'ENOSPC' : undefined)
    passPause()
    start('d')
    disk.fault = () => undefined
    passPause()
    start('e')
    expect(ifItDied().map(({ name }) => name)).toEqual(['d', 'e'])
  })

  it('tells no span as interrupted that ended while the disk took nothing, and was delivered', () => {
    end(start('ended'))
    const delivered = start('delivered')
    const waiting = start('waiting')
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    const parcel = end(delivered)
    end(waiting)
    spool.settled([parcel])
    disk.fault = () => undefined
    passPause()
    start('open')
    expect(ifItDied()).toEqual([
      { name: 'ended', isInterrupted: false },
      { name: 'waiting', isInterrupted: true },
      { name: 'open', isInterrupted: true },
    ])
  })

  it('goes on when how far it is delivered cannot be written', () => {
    const parcels = [end(start('a')), end(start('b'))]
    disk.fault = (call) => (call === 'writeSync' ? 'EIO' : undefined)
    spool.settled(parcels)
    disk.fault = () => undefined
    passPause()
    spool.settled([end(start('c'))])
    expect(ifItDied()).toEqual([])
  })

  it('reads back later what cannot be read now, and gives it up, counted and told, when it never can', () => {
    const all = { spans: 100, chars: 1_000_000 }
    spool.leave([end(start('a')), end(start('b'))])
    disk.fault = (call) => (call === 'openSync' ? 'EIO' : undefined)
    for (let i = 0; i < 9; i++) expect(spool.readBack(all)).toEqual([])
    expect([spool.unreadCount, spool.dropped, troubles]).toEqual([2, 0, []])
    disk.fault = () => undefined
    const [a, b] = spool.readBack(all) as [Parcel, Parcel]
    expect([a, b].map(told)).toEqual(['a', 'b'].map((name) => ({ name, isInterrupted: false })))
    spool.leave([b])
    disk.fault = (call) => (call === 'openSync' ? 'EIO' : undefined)
    for (let i = 0; i < 10; i++) expect(spool.readBack(all)).toEqual([])
    expect([spool.unreadCount, spool.dropped]).toEqual([0, 1])
    expect(troubles).toEqual([expect.stringMatching(/Cannot read 1 spans back from `spoolDir`: EIO/)])
  })

  it('tells once of a full disk that takes a short record now and then, and once when it takes all again', () => {
    const open = start('open')
    for (let i = 0; i < 10; i++) {
      disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
      end(start('lost'))
      disk.fault = () => undefined
      passPause()
      start('short')
    }
    expect(troubles).toEqual([expect.stringMatching(/cannot be written to `spoolDir`: ENOSPC/)])
    for (let i = 0; i < 100; i++) end(start('fine'))
    expect(troubles.slice(1)).toEqual(['Spans are written to `spoolDir` again.'])
    expect(end(open).place).toBeDefined()
  })

  it('loses no more than the one span to a byte that the disk changed, wherever it is', () => {
    const names = Array.from({ length: 3 }, (_, i) => `span ${i}`)
    for (const name of names) end(start(name))
    const [path = ''] = segments()
    const whole = readFileSync(path)
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] as number) ^ 0x55
      writeFileSync(path, changed)
      const ended = ifItDied()
        .filter(({ isInterrupted }) => !isInterrupted)
        .map(({ name }) => name)
      expect([at, new Set(ended).size]).toEqual([at, ended.length])
      expect([at, names.filter((name) => ended.includes(name)).length >= names.length - 1]).toEqual([
        at,
        true,
      ])
    }
    expect(troubles).toEqual([])
  })

  it('tells whole spans alone, wherever its process died in a write over a file that was longer', () => {
    const ends = Array.from({ length: 2 }, (_, i) => end(start(`span ${i}`)).place?.end as number)
    const [path = ''] = segments()
    const whole = readFileSync(path)
    for (let cut = 0; cut <= whole.length; cut++) {
      writeFileSync(path, Buffer.concat([whole.subarray(0, cut), Buffer.alloc(5_000)]))
      const setAside: string[] = []
      const ended = ifItDied(setAside).filter(({ isInterrupted }) => !isInterrupted)
      expect([cut, setAside, ended.length]).toEqual([cut, [], ends.filter((at) => at <= cut).length])
    }
  })

  it('tells what an earlier version wrote, whose records have no mark at their end', () => {
    for (let i = 0; i < 3; i++) end(start(`span ${i}`))
    start('open')
    const [path = ''] = segments()
    const whole = readFileSync(path)
    const parts: Buffer[] = []
    for (const { kind, head = 0, bytes } of [...readRecords(path)]) {
      const frame = Buffer.alloc(FRAME_BYTES)
      putFrame(frame, 0, kind as RecordKind, head, bytes.length)
      parts.push(frame, bytes)
    }
    const earlier = Buffer.concat(parts)
    expect(earlier.length).toBe(whole.length - parts.length / 2)
    writeFileSync(path, earlier)
    const setAside: string[] = []
    expect(ifItDied(setAside)).toEqual([
      ...[0, 1, 2].map((i) => ({ name: `span ${i}`, isInterrupted: false })),
      { name: 'open', isInterrupted: true },
    ])
    expect(setAside).toEqual([])
  })

  it('writes over files that are delivered, and tells nothing of what they held', () => {
    const made = new Set<string>()
    for (let i = 0; i < 2_000; i++) {
      spool.settled([end(start(`delivered ${i}`))])
      for (const path of segments()) made.add(`${statSync(path).ino}`)
      if (i % 100 === 0) expect(ifItDied()).toEqual([])
    }
    expect(segments().some((path) => Number(/(\d+)\.spans$/.exec(path)?.[1]) > 10)).toBe(true)
    expect(made.size).toBeLessThan(6)
    start('open')
    expect(ifItDied()).toEqual([{ name: 'open', isInterrupted: true }])
  })

  it('lets go of the file that it would write over when the disk is full', () => {
    const spares = () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('spare'))
    for (let i = 0; i < 500 && spares().length === 0; i++) spool.settled([end(start(`delivered ${i}`))])
    expect(spares()).toHaveLength(1)
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    end(start('lost'))
    expect(spares()).toEqual([])
    disk.fault = () => undefined
    passPause()
    expect(end(start('kept')).place).toBeDefined()
    spool.close()
    expect(spares()).toEqual([])
  })

  it('tells nothing as over that is tried again, and fails again', () => {
    start('open')
    end(start('ended'))
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    for (let i = 0; i < 5; i++) {
      end(start('lost'))
      passPause()
    }
    expect(troubles).toHaveLength(1)
  })
})
