/**
 * Types for the few members of the peers' packages that are used here, so that type checking works where the peers are not installed.
 */
declare module 'better-sqlite3' {
  interface Statement {
    all(...values: unknown[]): any[]
    get(...values: unknown[]): any
    run(...values: unknown[]): { readonly changes: number; readonly lastInsertRowid: number | bigint }
    iterate(...values: unknown[]): IterableIterator<any>
    pluck(on?: boolean): this
    raw(on?: boolean): this
    safeIntegers(on?: boolean): this
  }
  export default class Database {
    readonly readonly: boolean
    constructor(path: string, options?: { readonly?: boolean; fileMustExist?: boolean })
    prepare(sql: string): Statement
    exec(sql: string): this
    pragma(sql: string, options?: { simple?: boolean }): any
    close(): this
  }
}

declare module 'fastify' {
  export interface Reply {
    code(status: number): this
    header(name: string, value: string): this
    send(body: unknown): this
  }
  interface Request {
    readonly params: Readonly<Record<string, string>>
    readonly query: Readonly<Record<string, string | undefined>>
    readonly headers: Readonly<Record<string, string | undefined>>
  }
  interface App {
    get(path: string, handler: (request: Request, reply: Reply) => unknown): this
    listen(options: { host: string; port: number }): Promise<string>
    close(): Promise<void>
  }
  export default function fastify(options?: object): App
}

declare module 'postgres' {
  interface Query extends Promise<Record<string, unknown>[]> {
    /** Rows as the bytes that arrived, column by column. */
    raw(): Promise<Buffer[][]>
    values(): Promise<unknown[][]>
  }
  interface Sql {
    unsafe(text: string, values?: readonly unknown[], options?: { prepare?: boolean }): Query
    end(): Promise<void>
  }
  export default function postgres(options: object): Sql
}
