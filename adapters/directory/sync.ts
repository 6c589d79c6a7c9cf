/** What makes names of files last. */
/** So that a rename survives a loss of power. Not every system lets a directory be opened. */
export async function syncNames(directory: string): Promise<void> {
  const handle = await process
    .getBuiltinModule('node:fs/promises')
    .open(directory, 'r')
    .catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
