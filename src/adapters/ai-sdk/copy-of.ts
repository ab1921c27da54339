import type { SdkTool } from './sdk.ts'

/** Own properties and all that its class gives it, also of a tool that is frozen. */
export function copyOf(tool: SdkTool, own: Partial<SdkTool>): SdkTool {
  const replaced = Object.entries(own).map(([key, value]) => [
    key,
    { value, configurable: true, writable: true, enumerable: true },
  ])
  return Object.create(Object.getPrototypeOf(tool), {
    ...(Object.getOwnPropertyDescriptors(tool) as PropertyDescriptorMap),
    ...Object.fromEntries(replaced),
  }) as SdkTool
}
