/** Why a plugin or a tool was refused. */

/** What was wrong. */
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

/** A plugin or a tool was refused. Nothing of it is registered then; after `left`, it is gone. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly code: PluginErrorCode;

  constructor(code: PluginErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
