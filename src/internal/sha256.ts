/** In hex. `node:crypto` is loaded when it is first needed: that takes as long as loading all of the core. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text, 'hex')
}
