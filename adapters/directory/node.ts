/** What Node knows of files, found without an import, so that a bundle for browsers needs no stub for it. */

export const fs = () => process.getBuiltinModule('node:fs')
export const fsPromises = () => process.getBuiltinModule('node:fs/promises')
