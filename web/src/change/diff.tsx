/** Diff shows a unified difference. Added and removed lines differ in sign and colour. */
export function Diff({ text }: { text: string }) {
  return (
    <pre className="diff" tabIndex={0}>
      {text.split('\n').map((line, i) => (
        <span key={i} className={line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : undefined}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
