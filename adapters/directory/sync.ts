/** What makes files and their names last. */
const fs = () => process.getBuiltinModule('node:fs/promises')

export async function syncFile(path: string): Promise<void> {
  const handle = await fs().open(path, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** So that a rename survives a loss of power. Not every system lets a directory be opened. */
export async function syncNames(directory: string): Promise<void> {
  const handle = await fs()
    .open(directory, 'r')
    .catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
