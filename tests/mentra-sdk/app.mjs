// A to-do list on the unmodified @mentra/sdk, as its users write apps. The tests of toolyard-server start it as a
// process and learn from its standard output, one JSON line an event, what reached it.

import { AppServer, GIVE_APP_CONTROL_OF_TOOL_RESPONSE } from '@mentra/sdk';

const env = process.env;

// The line end in front keeps the line whole where the SDK's logger, a thread of its own, was in the middle of one.
const tell = (event, details = {}) => process.stdout.write(`\n${JSON.stringify({ event, ...details })}\n`);

class App extends AppServer {
  todos = [];

  async onSession(session, sessionId, userId) {
    session.events.onTranscription(({ text, isFinal }) => {
      tell('transcription', { text, isFinal });
      if (isFinal) session.layouts.showTextWall(text);
    });
    session.events.onButtonPress(({ buttonId, pressType }) => tell('button', { buttonId, pressType }));
    session.events.onCapabilitiesUpdate(({ modelName }) =>
      tell('capabilities', { modelName, hasSpeaker: session.capabilities?.hasSpeaker }),
    );
    session.settings.onValueChange('loud', (loud) => tell('setting', { loud }));
    session.events.onPermissionDenied(({ stream, requiredPermission }) => tell('denied', { stream, requiredPermission }));
    session.device.state.batteryLevel.onChange((level) => tell('battery', { level }));
    session.device.state.wifiSsid.onChange((ssid) => tell('wifi', { ssid }));
    session.settings.onMentraosChange('userTimezone', (zone) => tell('zone', { zone }));
    session.dashboard.content.onModeChange((mode) => tell('mode', { mode }));
    // The first connection was made before this method ran, so what is heard here is a return.
    session.events.onConnected(() => tell('reconnected', { sessionId }));
    session.events.onDisconnected(({ code }) => tell('disconnected', { code }));
    session.events.onError(({ message }) => tell('error', { message }));
    session.layouts.showTextWall('ready');
    tell('session', {
      sessionId,
      userId,
      modelName: session.capabilities?.modelName,
      loud: session.settings.get('loud'),
      zone: session.settings.getMentraOS('userTimezone'),
    });
  }

  async onStop(sessionId, userId, reason) {
    tell('stop', { sessionId, userId, reason });
    // Some apps forget this; then only the closing of the socket ends the session.
    if (!env.FORGETS_TO_STOP) await super.onStop(sessionId, userId, reason);
  }

  async onToolCall(call) {
    const { toolId, toolParameters, userId, activeSession } = call;
    tell('tool', { toolId, userId, inSession: activeSession !== null });
    const tool = Object.hasOwn(tools, toolId) ? tools[toolId] : undefined;
    return tool?.(this, toolParameters, activeSession);
  }
}

const tools = {
  add_todo(app, { item }) {
    app.todos.push(item);
    return `Added: ${item}`;
  },

  get_todos(app, _, session) {
    const list = app.todos.map((item, at) => `${at + 1}. ${item}`).join('\n') || 'No to-dos.';
    if (!session) return list;
    session.layouts.showTextWall(list);
    return GIVE_APP_CONTROL_OF_TOOL_RESPONSE;
  },

  fail() {
    throw new Error('the list is on fire');
  },

  async speak(_, { text }, session) {
    const { success, duration, error } = await session.audio.speak(text);
    tell('spoken', { success, duration, error });
    return success ? `Spoken in ${duration} ms` : `Not spoken: ${error}`;
  },

  async photo(_, __, session) {
    try {
      const { size, mimeType } = await session.camera.requestPhoto();
      return `A photo: ${mimeType}, ${size} bytes`;
    } catch (error) {
      return `No photo: ${error}`;
    }
  },

  async film(_, __, session) {
    try {
      await session.camera.startManagedStream();
      return 'It runs';
    } catch (error) {
      return `No stream: ${error.message}`;
    }
  },

  dashboard(_, { text }, session) {
    session.dashboard.content.writeToMain(text);
    return 'Written';
  },

  facts(_, __, session) {
    const { batteryLevel, charging, wifiConnected, wifiSsid } = session.device.state.getSnapshot();
    const zone = session.settings.getMentraOS('userTimezone');
    const metric = session.settings.getMentraOS('metricSystemEnabled');
    return JSON.stringify({ batteryLevel, charging, wifiConnected, wifiSsid, zone, metric });
  },

  async remember(_, { text }, session) {
    await session.simpleStorage.set('note', text);
    // Otherwise the SDK writes some seconds later.
    await session.simpleStorage.flush();
    tell('storage', { written: text });
    return 'Remembered';
  },

  async recall(_, __, session) {
    const note = await session.simpleStorage.get('note');
    tell('storage', { read: note });
    return note ?? 'Nothing';
  },
};

const app = new App({
  packageName: env.PACKAGE_NAME,
  apiKey: env.MENTRAOS_API_KEY,
  port: Number(env.PORT),
});
await app.start();
tell('listening');
