/**
 * Markdown as elements of the page. A lexer reads it, and each of its tokens is drawn by us: nothing becomes markup that a
 * message brought along, HTML in it stays the text it is, and no link or picture is fetched.
 */
import { Lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { visibleText } from '../../src/viewer/model/format.ts'
import { checked } from '../../src/viewer/model/images.ts'

/** Longer texts, and lists in lists further down, stay as they were written: they would hold up the page. */
const MAX_CHARS = 40_000
const MAX_DEPTH = 20

/** Not isolated: whichever way a paragraph is written, its words say, and isolated ones are not asked. */
export function Words({ children }: { children: string }) {
  return <>{visibleText(children)}</>
}

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => read(text), [text])
  if (!tokens)
    return (
      <pre class="plain" dir="auto">
        <Words>{text}</Words>
      </pre>
    )
  return <div class="markdown">{blocks(tokens, 0)}</div>
}

/** So many signs in one paragraph make a lexer go back and forth for seconds. */
const MAX_SIGNS = 500
const TOO_DEEP = /^(?:[ \t]*(?:[>*+-]|\d+[.)])){20}/m

function read(text: string): Token[] | undefined {
  if (text.length > MAX_CHARS || TOO_DEEP.test(text)) return undefined
  if (text.split(/\n\s*\n/).some((part) => (part.match(/[*_~<`[]/g)?.length ?? 0) > MAX_SIGNS))
    return undefined
  try {
    return Lexer.lex(text)
  } catch {
    // Nested more deeply than a stack goes.
    return undefined
  }
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token} depth={depth} />)
}

function Block({ token, depth }: { token: Token; depth: number }) {
  if (depth > MAX_DEPTH) return <AsWritten token={token} />
  switch (token.type) {
    case 'space':
    case 'def':
      return token.type === 'def' ? <AsWritten token={token} /> : null
    case 'hr':
      return <hr />
    case 'heading':
      // Not a heading of the page: a message may have a hundred.
      return (
        <p class={`md-heading md-h${Math.min(4, (token as Tokens.Heading).depth)}`} dir="auto">
          {inline(token, depth)}
        </p>
      )
    case 'code':
      return (
        <pre class="code" dir="ltr">
          <Words>{(token as Tokens.Code).text}</Words>
        </pre>
      )
    case 'blockquote':
      return <blockquote dir="auto">{blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>
    case 'list':
      return <List list={token as Tokens.List} depth={depth} />
    case 'table':
      return <Table table={token as Tokens.Table} depth={depth} />
    case 'paragraph':
    case 'text':
      return (
        <p class="prose" dir="auto">
          {inline(token, depth)}
        </p>
      )
    default:
      return <AsWritten token={token} />
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, index) => (
    <li key={index} dir="auto" class={item.task ? 'task' : ''}>
      {item.task && <span class="task-box">{item.checked ? '☑' : '☐'}</span>}
      {item.tokens.map((token, at) =>
        token.type === 'text' ? (
          <span key={at}>{inline(token, depth)}</span>
        ) : token.type === 'checkbox' ? null : (
          <Block key={at} token={token} depth={depth + 1} />
        ),
      )}
    </li>
  ))
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  return (
    <div class="md-table">
      <table dir="auto">
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} class={`align-${cell.align ?? 'none'}`}>
                {inlines(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} class={`align-${cell.align ?? 'none'}`} dir="auto">
                  {inlines(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inline(token: Token, depth: number): ComponentChildren {
  const inside = 'tokens' in token ? token.tokens : undefined
  return inside ? inlines(inside, depth) : <Words>{wordsOf(token)}</Words>
}

function inlines(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, index) => <Inline key={index} token={token} depth={depth + 1} />)
}

function Inline({ token, depth }: { token: Token; depth: number }) {
  if (depth > MAX_DEPTH) return <AsWritten token={token} />
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token, depth)}</strong>
    case 'em':
      return <em>{inline(token, depth)}</em>
    case 'del':
      return <del>{inline(token, depth)}</del>
    case 'codespan':
      return (
        <code>
          <Words>{wordsOf(token)}</Words>
        </code>
      )
    case 'br':
      return <br />
    case 'text':
    case 'escape':
      return <>{inline(token, depth)}</>
    case 'link':
      return <Link link={token as Tokens.Link} depth={depth} />
    case 'image':
      return <Picture src={(token as Tokens.Image).href} words={token.raw} />
    default:
      return <AsWritten token={token} />
  }
}

/** Opens where it leads only when somebody clicks on it, and says where that is. */
function Link({ link, depth }: { link: Tokens.Link; depth: number }) {
  if (!/^https?:\/\//i.test(link.href)) return <AsWritten token={link} />
  return (
    <a class="outside" href={link.href} title={link.href} target="_blank" rel="noopener noreferrer">
      {inlines(link.tokens, depth)}
    </a>
  )
}

/** A picture that the text carries itself; any other is told as it was written. */
export function Picture({ src, words }: { src: string | undefined; words: string }) {
  const image = src === undefined ? undefined : checked(src)
  if (!image) return <Words>{words.length > 300 ? `${words.slice(0, 300)}…` : words}</Words>
  // What Markdown says of it is the picture itself.
  const told = words.length > 300 ? image.words : words
  return <img class="picture" src={image.src} alt={told} title={told} loading="lazy" />
}

function AsWritten({ token }: { token: Token }) {
  return <Words>{token.raw}</Words>
}

function wordsOf(token: Token): string {
  return token.type === 'text' || !('text' in token) ? token.raw : String(token.text)
}
