/** Errors of plugin registration. */

/** The reason. */
export type PluginErrorCode =
  | 'no-name'
  | 'no-version'
  | 'bad-plugin'
  | 'duplicate'
  | 'bad-tool'
  | 'no-tool'
  | 'no-executor'
  | 'conflict'
  | 'refused'
  | 'left'
  | 'unknown';

/** A plugin or a tool was rejected, and nothing of it is registered. After `left`, it is removed. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly code: PluginErrorCode;

  constructor(code: PluginErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
