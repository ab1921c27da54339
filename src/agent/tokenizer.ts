import { requirePeer } from '../internal/require-peer.ts'

type Encoding = typeof import('gpt-tokenizer/encoding/o200k_base')

/** Models before GPT-4o. Everything newer, and of other providers, is counted with GPT-4o's encoding. */
const OLDER = /^(gpt-4($|-(?!o|\.))|gpt-3\.5)/

/**
 * Texts above this are counted in pieces of this many characters: one endless word would take the tokenizer time
 * that grows faster than its length.
 */
const PIECE = 8_192

// What looks like a special token in a conversation is text, not an error.
const AS_TEXT = { disallowedSpecial: new Set<string>() }

/**
 * Counts tokens with the `gpt-tokenizer` package.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` when that optional peer is not installed.
 */
export function tokenCounter(model: string): (text: string) => number {
  const encoding = OLDER.test(model) ? 'cl100k_base' : 'o200k_base'
  const { countTokens } = requirePeer<Encoding>(`gpt-tokenizer/encoding/${encoding}`, 'Compaction', [
    'gpt-tokenizer',
  ])
  return (text) => {
    let tokens = 0
    for (let start = 0; start < text.length; start += PIECE) {
      tokens += countTokens(text.slice(start, start + PIECE), AS_TEXT)
    }
    return tokens
  }
}
