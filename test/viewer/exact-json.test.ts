import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editableJson, exactLines, exactText } from '../../src/viewer/model/exact-json.ts'

describe('JSON as a person can judge it', () => {
  it('tells types apart, shows every level, and a long text line by line', () => {
    const value = {
      id: '4711',
      count: 4711,
      none: null,
      words: 'null',
      deep: { a: { b: { c: [{ d: true }] } } },
      empty: [{}, []],
      script: 'set -e\nrm -rf "$HOME"\n',
      windows: 'C:\\new',
    }
    expect(exactText(value).split('\n')).toEqual([
      '{',
      '  "id": "4711",',
      '  "count": 4711,',
      '  "none": null,',
      '  "words": "null",',
      '  "deep": {',
      '    "a": {',
      '      "b": {',
      '        "c": [',
      '          {',
      '            "d": true',
      '          }',
      '        ]',
      '      }',
      '    }',
      '  },',
      '  "empty": [',
      '    {},',
      '    []',
      '  ],',
      '  "script": "set -e\\n',
      '    │ rm -rf \\"$HOME\\"\\n",',
      '  "windows": "C:\\\\new"',
      '}',
    ])
    expect(exactText('one\ntwo')).toBe('"one\\n\n  │ two"')
    expect(exactText(undefined)).toBe('undefined')
  })

  it.each([
    ['a terminal escape', '\u001b[2K', '"\\u001b[2K"'],
    ['a carriage return', 'safe\rrm', '"safe\\rrm"'],
    ['a direction', 'a\u202etxt.exe', '"a\\u202etxt.exe"'],
    ['a space of no width', 'pay\u200bpal', '"pay\\u200bpal"'],
    ['a space that is none', 'a\u00a0b\u3000c', '"a\\u00a0b\\u3000c"'],
    ['a filler', '\u3164', '"\\u3164"'],
    ['letters that are tags', '\u{e0041}', '"\\udb40\\udc41"'],
    ['half a character', '\ud800', '"\\ud800"'],
    ['a line that looks like ours', 'x"\n  "sudo": true', '"x\\"\\n\n  │   \\"sudo\\": true"'],
  ])('shows %s', (_, hidden, shown) => {
    expect(exactText(hidden)).toBe(shown)
    expect(exactText({ [hidden]: 1 })).toContain(shown.replace('\n  │ ', ''))
  })

  it('is the JSON itself, of any value', () => {
    const joined = (value: unknown) =>
      exactLines(value)
        .flatMap(({ parts }) => parts.map(({ text }) => (text === '│ ' ? '' : text)))
        .join('')
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(joined(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(
      fc.property(fc.oneof(text, fc.stringMatching(/^[\\n"\n]*$/)), (value) => {
        expect(JSON.parse(joined(value))).toBe(value)
        expect(exactText(value)).not.toMatch(/[^\P{C}\n]/u)
      }),
    )
  })

  it('is edited with what cannot be seen escaped, and means the same', () => {
    const value = { to: 'pay\u200bpal', text: 'a\nb', list: ['\u202e'] }
    expect(editableJson(value)).toBe(
      '{\n  "to": "pay\\u200bpal",\n  "text": "a\\nb",\n  "list": [\n    "\\u202e"\n  ]\n}',
    )
    expect(JSON.parse(editableJson(value))).toEqual(value)
  })

  it('is made however deep a value is, and however long', () => {
    let deep: unknown = 1
    for (let level = 0; level < 50_000; level++) deep = [deep]
    expect(exactLines(deep)).toHaveLength(100_001)
    expect(exactLines('line\n'.repeat(200_000)).length).toBeGreaterThanOrEqual(200_000)
  })
})
