import { MessageSquare } from 'lucide-react';

const QUESTIONS = ['What time is it in Tokyo?', 'What is 17 % of 2340?', 'What can you do for me?'];

/** An empty conversation, with examples. */
export function Welcome({ onAsk }: { onAsk: (text: string) => void }) {
  return (
    <div className="welcome">
      <MessageSquare size={34} aria-hidden />
      <h2>What can I do for you?</h2>
      <p className="muted">The assistant uses the tools of your apps and plugins. You see each call.</p>
      <ul className="plain-list row">
        {QUESTIONS.map((question) => (
          <li key={question}>
            <button type="button" className="button" onClick={() => onAsk(question)}>
              {question}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
