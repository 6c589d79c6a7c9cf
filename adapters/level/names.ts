/** The names of LevelDB's files. Any other file is left alone, by LevelDB and here. */

/** `000012.ldb`; older ones end in `sst`. */
export const isTable = (name: string): boolean => /^\d+\.(ldb|sst)$/.test(name)

export const isLog = (name: string): boolean => /^\d+\.log$/.test(name)

/** The number of a table or log. */
export const numberOf = (name: string): number => Number.parseInt(name, 10)

export const isManifest = (name: string): boolean => /^MANIFEST-\d+$/.test(name)

export const manifestNumber = (name: string): number => Number(name.slice('MANIFEST-'.length))

/**
 * A file that exists only in a database. If creation was cut short, by a full disk or a crash, the first MANIFEST is alone: LevelDB writes it before
 * CURRENT, and everything else after.
 */
export const isData = (name: string): boolean => name !== 'MANIFEST-000001' && (isTable(name) || isLog(name) || isManifest(name))

/** Everything that makes up a database, LOCK excepted. */
export const isDatabaseFile = (name: string): boolean =>
  isTable(name) || isLog(name) || /^(CURRENT|MANIFEST-\d+|\d+\.dbtmp|LOG|LOG\.old)$/.test(name)
