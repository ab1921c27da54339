import { readFileSync } from 'node:fs'

/** The page with the block behind each `<!-- examples/file.ts#region -->` set to that region of the file. */
export function fillGuide(page: string): string {
  return page.replace(
    /(<!-- (examples\/[^ #]+)#(\w+) -->\n)(?:\n```ts\n[\s\S]*?\n```\n)?/g,
    (_whole, head: string, file: string, name: string) =>
      `${head}\n\`\`\`ts\n${region(file, name)}\n\`\`\`\n`,
  )
}

export function region(file: string, name: string): string {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
  const found = new RegExp(`// #region ${name}\\n([\\s\\S]*?)\\n// #endregion`).exec(text)?.[1]
  if (found === undefined) throw new Error(`${file} has no region "${name}".`)
  return found
}
