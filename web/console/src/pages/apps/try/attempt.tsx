/** The form of one tool, its run, and its result. */
import { Play, Square } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../../ui/button';
import { Code } from '../../../ui/code';
import { CodeArea } from '../../../ui/code-area';
import { Field, focusWrong } from '../../../ui/form';
import { parseJson } from '../../../ui/json-text';
import { Card } from '../../../ui/page';
import type { App } from '../api';
import { isObject, formatJson, type Json } from '../tools/json';
import { emptyInput, collect, fieldsOf, pathsOf, inputFromArguments, serverProblems, type FormInput, type FieldProblem } from './fields';
import { CallReport, type AttemptState } from './outcome';
import { asUser, curlOf, recordOf, run } from './run';
import { SchemaFields } from './schema-form';

interface Props {
  app: App;
  tool: Json;
  user: string;
  isOther: boolean;
}

export function Attempt({ app, tool, user, isOther }: Props) {
  const name = String(tool.name);
  const field = useMemo(() => fieldsOf(tool.inputSchema), [tool]);
  const hasForm = field.kind === 'group';
  const [typed, setTyped] = useState<FormInput>(() => emptyInput(field));
  const [text, setText] = useState<string | undefined>(hasForm ? undefined : '{}');
  const [wrong, setWrong] = useState<readonly FieldProblem[]>([]);
  const [attempted, setAttempted] = useState<AttemptState>();
  const running = useRef<AbortController>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => () => running.current?.abort(), []);

  const given = text === undefined ? collect(field, typed) : fromText(text);
  async function start() {
    setWrong(given.wrong);
    if (given.wrong.length > 0) return focusWrong(form.current);
    const abort = new AbortController();
    running.current = abort;
    const headers = asUser(user, isOther);
    setAttempted({ state: 'running', progress: [] });
    try {
      const outcome = await run({
        app: app.packageName,
        tool: name,
        arguments: given.value,
        headers,
        signal: abort.signal,
        onProgress: (progress) => setAttempted({ state: 'running', progress }),
      });
      const { error } = outcome.result;
      if (text === undefined && error?.code === 'INVALID_ARGUMENTS') {
        const problems = serverProblems(error.message, pathsOf(field, typed));
        setWrong(problems);
        if (problems.length > 0) focusWrong(form.current);
      }
      setAttempted((before) => ({ state: 'done', outcome, user, tool: name, arguments: given.value, progress: before?.progress ?? [] }));
      const record = outcome.callId === null ? undefined : await recordOf(outcome.callId, headers, abort.signal);
      setAttempted((before) => (before?.state === 'done' && before.outcome === outcome ? { ...before, record: record ?? null } : before));
    } catch (error) {
      if (!abort.signal.aborted) setAttempted({ state: 'failed', error, progress: [] });
    }
  }
  function stop() {
    running.current?.abort();
    setAttempted({ state: 'stopped', progress: [] });
  }
  /** Switching to JSON always works; switching back only if the form can show the arguments. */
  function switchTo(json: boolean) {
    setWrong([]);
    if (json) return setText(formatJson(given.value ?? {}));
    const back = inputFromArguments(field, given.value);
    if (given.wrong.length > 0 || back === null) return setWrong([{ path: '', message: 'The form cannot show these arguments.' }]);
    setTyped(back);
    setText(undefined);
  }
  const isRunning = attempted?.state === 'running';
  return (
    <>
      <Card
        title="Arguments"
        actions={
          <div className="segments" role="group" aria-label="How to give the arguments">
            <button
              type="button"
              aria-pressed={text === undefined}
              disabled={!hasForm}
              onClick={() => text !== undefined && switchTo(false)}
            >
              Form
            </button>
            <button type="button" aria-pressed={text !== undefined} onClick={() => text === undefined && switchTo(true)}>
              JSON
            </button>
          </div>
        }
      >
        <form
          ref={form}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (!isRunning) void start();
          }}
        >
          {text !== undefined ? (
            <Field
              label="Arguments as JSON"
              {...(!hasForm && { hint: 'The form does not support the schema of this tool.' })}
              error={wrong[0]?.message ?? given.wrong[0]?.message}
            >
              <CodeArea value={text} onChange={setText} wrongLine={lineOf(text)} rows={8} />
            </Field>
          ) : field.kind === 'group' && field.fields.length === 0 ? (
            <p className="muted">This tool takes no arguments.</p>
          ) : (
            <SchemaFields field={field} typed={typed} path="" wrong={wrong} onChange={setTyped} />
          )}
          <div className="row form-actions">
            <Button type="submit" kind="primary" disabled={isRunning} icon={<Play size={16} aria-hidden />}>
              Run
            </Button>
            {isRunning && (
              <Button icon={<Square size={15} aria-hidden />} onClick={stop}>
                Stop
              </Button>
            )}
          </div>
        </form>
      </Card>
      {attempted !== undefined && <CallReport attempted={attempted} app={app} user={user} isOther={isOther} onAgain={() => void start()} />}
      <Card>
        <details className="fold bare">
          <summary>As a curl command</summary>
          <div className="fold-body">
            <Code label="curl command" value={curlOf(`${app.packageName}:${name}`, given.value ?? {}, user, isOther)} />
          </div>
        </details>
      </Card>
    </>
  );
}

function fromText(text: string): { value: unknown; wrong: FieldProblem[] } {
  const parsed = parseJson(text);
  if (!parsed.ok)
    return { value: undefined, wrong: [{ path: '', message: `Line ${parsed.at.line}, column ${parsed.at.column}: ${parsed.message}.` }] };
  return isObject(parsed.value)
    ? { value: parsed.value, wrong: [] }
    : { value: undefined, wrong: [{ path: '', message: 'Arguments must be a JSON object.' }] };
}

function lineOf(text: string): number | undefined {
  const parsed = parseJson(text);
  return parsed.ok ? undefined : parsed.at.line;
}
