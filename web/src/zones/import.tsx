import { Alert, Button, Code, Group, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { preview, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { Drop } from '../ui/drop';
import { failed } from '../ui/notify';
import { Problem } from '../ui/problem';
import { importZone } from './actions';
import { wrongLines, type WrongLine } from './refusal';
import { Modal } from '../ui/dialog';

/** The maximum size of a file that is displayed. */
const shownBytes = 1 << 20;

/**
 * ImportZone imports records from a master file. Errors are shown with their line, otherwise the difference is shown
 * before saving.
 */
export function ImportZone({ farm, zone, close }: { farm: string; zone: string; close: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [files, setFiles] = useState<File[]>([]);
  const [add, setAdd] = useState(false);
  const [tried, setTried] = useState<Change>();
  const area = useRef<HTMLTextAreaElement>(null);
  const trial = useMutation({
    mutationFn: async () => {
      const change = importZone(farm, zone, text, add, t('zones.import_of', { name: zone }));
      await preview(change);
      return change;
    },
    onSuccess: setTried,
  });
  const wrong = wrongLines(trial.error);
  const lines = wrong.length > 0 ? text.split('\n') : [];
  const type = (to: string) => {
    setText(to);
    trial.reset();
  };
  const take = (chosen: File[]) => {
    setFiles(chosen);
    void chosen[0]?.text().then(type, failed);
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    trial.mutate();
  };
  /** Moves the cursor to a line. */
  const show = ({ line }: WrongLine) => {
    const start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
    area.current?.focus();
    area.current?.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
  };
  if (tried) return <ChangeDialog change={tried} close={() => setTried(undefined)} done={close} />;
  return (
    <Modal opened onClose={close} size="xl" title={t('zones.import_of', { name: zone })} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Drop label={t('zones.file')} about={t('zones.drop')} files={files} set={take} accept=".zone,.db,.txt,text/*" />
          {text.length <= shownBytes && (
            <Textarea ref={area} label={t('zones.text')} description={t('zones.text_about')} rows={10} wrap="off" spellCheck={false} classNames={{ input: 'code' }} placeholder={'$TTL 3600\n@    NS    ns1\nns1  A     192.0.2.53\nwww  A     192.0.2.10'} value={text} aria-invalid={wrong.length > 0} onChange={(e) => type(e.currentTarget.value)} />
          )}
          <Switch label={t('zones.beside')} description={t('zones.replace')} checked={add} onChange={(e) => setAdd(e.currentTarget.checked)} />
          {wrong.length > 0 && (
            <Alert color="red" role="alert" title={t('zones.wrong', { count: wrong.length })}>
              <Stack gap="sm">
                {wrong.map((w) => (
                  <div key={`${w.line} ${w.text}`}>
                    <Group gap="xs" wrap="nowrap" align="start">
                      <Button size="compact-xs" variant="default" onClick={() => show(w)} disabled={text.length > shownBytes} style={{ flexShrink: 0 }}>
                        {t('zones.line', { line: w.line })}
                      </Button>
                      <Code className="text">{lines[w.line - 1]}</Code>
                    </Group>
                    <Text size="sm" className="text">
                      {w.text}
                    </Text>
                  </div>
                ))}
              </Stack>
            </Alert>
          )}
          {trial.error && wrong.length === 0 && <Problem error={trial.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('change.cancel')}
            </Button>
            <Button type="submit" disabled={text.trim() === ''} loading={trial.isPending}>
              {t('zones.try')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
