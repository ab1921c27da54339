import { Patches } from '../sdk-run/patches.ts'

export const patches = new Patches()
