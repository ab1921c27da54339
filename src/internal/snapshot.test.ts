import { describe, expect, it } from 'vitest'
import { cpuMs } from '../../test/support/cpu.ts'
import { snapshot } from './snapshot.ts'

describe('snapshot', () => {
  it('shares nothing plain with the original', () => {
    const value = {
      list: [{ a: 1 }],
      inner: { b: null },
      bare: Object.assign(Object.create(null), { c: [2] }),
    }

    const copy = snapshot(value)

    expect(copy).toEqual(value)
    expect([copy.list, copy.list[0], copy.inner, copy.bare, copy.bare.c]).not.toContain(value.list)
    expect(copy.bare.c).not.toBe(value.bare.c)
    expect(copy.list[0]).not.toBe(value.list[0])
  })

  it('keeps what is not plain by reference', () => {
    class Client {}
    const value = { client: new Client(), bytes: new Uint8Array(2), run: () => {}, error: new Error('x') }

    const copy = snapshot(value)

    for (const key of ['client', 'bytes', 'run', 'error'] as const) expect(copy[key]).toBe(value[key])
  })

  it('keeps cycles and shared parts as they are in large values', () => {
    const shared = { n: 1 }
    const root: { items: object[]; self?: object } = {
      items: Array.from({ length: 500 }, () => ({ shared })),
    }
    root.self = root

    const copy = snapshot(root)

    expect(copy.self).toBe(copy)
    expect(new Set(copy.items.map((item) => (item as { shared: object }).shared)).size).toBe(1)
    expect((copy.items[0] as { shared: object }).shared).not.toBe(shared)
  })

  it('takes time in proportion to the value, however often its parts point at each other', async () => {
    const parent: { children: object[] } = { children: [] }
    for (let i = 0; i < 20_000; i++) parent.children.push({ i, parent, siblings: parent.children })
    let diamond: object = {}
    for (let i = 0; i < 100; i++) diamond = { left: diamond, right: diamond }
    expect(await cpuMs(() => snapshot({ parent, diamond }))).toBeLessThan(10_000)
  })

  it('copies the upper part of what is nested too deep', () => {
    let deep: { inner?: object } = {}
    for (let i = 0; i < 50_000; i++) deep = { inner: deep }

    const copy = snapshot(deep)

    expect(copy).not.toBe(deep)
    expect(copy.inner).not.toBe(deep.inner)
  })
})
